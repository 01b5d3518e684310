//! Numbers of the driver's faults and what they mean.
//!
//! In:  a line of the kernel's log.  Out: [`Xid`] with its meaning.
//! Not here: what follows for the run (see `kernel`).
//!
//! Source: NVIDIA, "XID Errors" and its catalogue. Only numbers whose meaning is stable over drivers are named.

/// Meaning of the numbers.
const MEANINGS: &[(u32, &str)] = &[
    (8, "GPU stopped processing"),
    (13, "exception in the graphics engine, mostly a fault of the program"),
    (31, "page fault in GPU memory, mostly a fault of the program"),
    (32, "invalid or corrupted push buffer"),
    (38, "error of the driver's firmware"),
    (43, "GPU stopped processing for one program"),
    (45, "work removed because of an error before"),
    (48, "memory error of two bits, not correctable"),
    (61, "breakpoint or warning of the internal micro-controller"),
    (62, "internal micro-controller halted"),
    (63, "a bad part of memory was recorded for replacement"),
    (64, "a bad part of memory could not be recorded for replacement"),
    (68, "exception in the video decoder"),
    (69, "class error in the graphics engine"),
    (74, "NVLink error"),
    (79, "GPU has fallen off the bus"),
    (92, "high rate of memory errors of one bit"),
    (94, "memory error, contained to one program"),
    (95, "memory error, not contained"),
    (109, "time-out at a switch of contexts"),
    (119, "time-out of a call to the GPU's system processor"),
    (120, "error in the GPU's system processor"),
    (121, "corrected error of the link between chips"),
    (140, "memory error, not recovered"),
    (154, "the driver says how the GPU can be recovered"),
];

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Xid {
    pub number: u32,
    /// Where it happened: PCI domain, bus and device. Absent when the line does not say so in a known form.
    pub pci: Option<(u32, u32, u32)>,
}

impl Xid {
    /// Reads a line like `NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.`. The domain may have up to eight digits.
    pub(super) fn read(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once("NVRM: Xid (")?;
        let (place, rest) = rest.split_once("): ")?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some(Self { number: rest[..digits].parse().ok()?, pci: pci(place) })
    }

    /// Its meaning, where known.
    pub(super) fn meaning(&self) -> &'static str {
        MEANINGS
            .iter()
            .find(|(number, _)| *number == self.number)
            .map_or("see NVIDIA's catalogue of Xid errors", |(_, words)| words)
    }
}

/// Domain, bus and device of `PCI:0000:2b:00`, `0000000F:01:00.0` and their like, all hexadecimal.
pub(super) fn pci(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.strip_prefix("PCI:").unwrap_or(text).split(':');
    let hex = |part: &str| u32::from_str_radix(part, 16).ok();
    let (domain, bus, device) = (hex(parts.next()?)?, hex(parts.next()?)?, parts.next()?);
    let device = hex(device.split_once('.').map_or(device, |(device, _)| device))?;
    parts.next().is_none().then_some((domain, bus, device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_from_the_lines_that_drivers_print() {
        let fault = |line| Xid::read(line).map(|xid| (xid.number, xid.pci));
        assert_eq!(
            fault("NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."),
            Some((79, Some((0, 0x2b, 0))))
        );
        assert_eq!(
            fault(
                "[12.3] NVRM: Xid (PCI:000f:01:00): 31, pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault"
            ),
            Some((31, Some((0xf, 1, 0))))
        );
        assert_eq!(fault("NVRM: Xid (0000:01:00): 62, 0096(1c54) 00000000 00000000"), Some((62, Some((0, 1, 0)))));
        assert_eq!(fault("NVRM: Xid (GPU): 13"), Some((13, None)));
        for other in ["", "NVRM: loading", "NVRM: Xid (PCI:0000:2b:00): x", "NVRM: Xid (PCI:0000:2b:00", "nvidia: Xid"]
        {
            assert_eq!(fault(other), None, "{other}");
        }
    }

    #[test]
    fn addresses_are_compared_by_their_numbers_whatever_their_digits() {
        assert_eq!(pci("0000000F:01:00.0"), pci("PCI:000f:01:00"));
        assert_ne!(pci("0000:01:00"), pci("000f:01:00"));
        for garbage in ["", "PCI:", "01:00", "0:1:2:3", "zz:01:00"] {
            assert_eq!(pci(garbage), None, "{garbage}");
        }
    }

    #[test]
    fn meanings_are_in_order_and_none_stands_twice() {
        assert!(MEANINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
