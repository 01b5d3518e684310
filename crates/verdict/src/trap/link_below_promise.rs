//! Links between the machines of a campaign that carry less than their device promises.
//!
//! In:  links as they were measured before the first run.  Out: one finding for each campaign.
//! Not here: measuring them (see `run::cluster`).

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use crate::case::Case;
use crate::number::{list, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::MeasuredLink;

/// Share of the promised speed that a link must carry, per cent, where one TCP connection on one core could: below 25 Gbit/s.
pub(super) const SHARE_PCT: f64 = 70.0;
/// Rate of TCP through the kernel of one machine, about, Gbit/s. A faster link is compared with this only.
pub(super) const TCP_GBIT_S: f64 = 25.0;
/// Largest difference between the two directions of one cable, per cent of the faster.
pub(super) const WAYS_PCT: f64 = 30.0;
/// A network between neighbours answers within this time, µs.
pub(super) const RTT_US: f64 = 500.0;

pub(super) struct LinkBelowPromise;

impl Trap for LinkBelowPromise {
    fn id(&self) -> &'static str {
        "link-below-promise"
    }
    fn title(&self) -> &'static str {
        "The link carries less than it promises"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "The link between the machines is slower than it should be.\n\n\
             An engine on two machines is as fast as the link between them. Causes of a slow link are a cable in the wrong port, a \
             lower link speed, a small MTU or a route over the office network. The figures then show the cable.\n\n\
             Each direction is measured by TCP before the first run. The check fires when a direction carries less than {SHARE_PCT} \
             % of the speed that the driver reports. The reference is {TCP_GBIT_S} Gbit/s where the driver reports more than TCP on \
             one core can fill. It fires when the two directions of one cable differ by more than {WAYS_PCT} %. It fires when a \
             round trip takes more than {RTT_US} µs, or when a direction could not be measured. Where 'ib_write_bw' was run, its \
             figure is held against the full speed.\n\n\
             Name the fast link in the suite (link = \"192.168.177.0/24\"). Look at it with 'sparkbench link-probe' first."
        )
    }
    fn undermines(&self) -> &'static str {
        "that the link between the machines was as fast as it can be"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        vec![look(case)]
    }
}

fn look(case: &Case<'_>) -> Finding {
    let subject = Subject::of(case);
    let links = &case.campaign.links;
    if links.is_empty() {
        return Finding::not_evaluated(subject, "the campaign has no measured link between machines");
    }
    let mut said: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for link in links {
        let way = format!("{} to {}", link.from, link.to);
        rows.push(Evidence::text(format!("{way}: {}", words(link))));
        said.extend(faults(link, links).into_iter().map(|fault| format!("{way}: {fault}")));
    }
    if said.is_empty() {
        return Finding::passed(subject, "every link carries what its device promises, or what TCP can carry of it")
            .evidence(rows);
    }
    Finding::fired(subject, list(&said))
        .evidence(rows)
        .remedy("look at cable, port, speed and MTU ('ethtool', 'ip -d link'), name the fast link in [nodes] link, and measure again with 'sparkbench link-probe'")
}

/// A direction of a link and its rate.
fn words(link: &MeasuredLink) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(link.device.clone());
    words.extend(link.speed_mbit_s.map(|speed| format!("{} Gbit/s promised", significant(speed / 1000.0, 3))));
    words.extend(link.best_gbit_s().map(|best| format!("{} Gbit/s measured", significant(best, 3))));
    words.extend(link.rtt_p50_us.map(|us| format!("{} µs round trip", significant(us, 3))));
    words.extend(link.error.clone());
    words.join(", ")
}

fn faults(link: &MeasuredLink, all: &[MeasuredLink]) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(why) = &link.error {
        return vec![format!("it was not measured ({why})")];
    }
    let Some(best) = link.best_gbit_s() else { return faults };
    let gbit = |value: f64| significant(value, 3);
    if let Some(promised) = link.speed_mbit_s.map(|speed| speed / 1000.0).filter(|speed| *speed > 0.0) {
        let may = if link.rdma_gbit_s.is_some() { promised } else { promised.min(TCP_GBIT_S) };
        if best < may * SHARE_PCT / 100.0 {
            faults.push(format!("{} Gbit/s of {} that its device promises", gbit(best), gbit(promised)));
        }
    }
    let back =
        all.iter().find(|other| other.from == link.to && other.to == link.from).and_then(MeasuredLink::best_gbit_s);
    if let Some(back) = back.filter(|back| best < back * (1.0 - WAYS_PCT / 100.0)) {
        faults.push(format!("{} Gbit/s, and {} the other way", gbit(best), gbit(back)));
    }
    if let Some(us) = link.rtt_p50_us.filter(|us| *us > RTT_US) {
        faults.push(format!("a round trip of {} µs", gbit(us)));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(speed_mbit_s: f64, gbit_s: f64, rtt_us: f64) -> MeasuredLink {
        MeasuredLink {
            from: "a".into(),
            to: "b".into(),
            speed_mbit_s: Some(speed_mbit_s),
            rtt_p50_us: Some(rtt_us),
            tcp_gbit_s: [(1, gbit_s / 2.0), (4, gbit_s)].into(),
            ..MeasuredLink::default()
        }
    }

    #[test]
    fn a_fast_link_is_held_against_what_tcp_can_and_a_slow_one_against_its_speed() {
        let none = |link: MeasuredLink| faults(&link, &[]);
        assert!(none(link(200_000.0, 40.0, 30.0)).is_empty());
        assert!(none(link(200_000.0, 12.0, 30.0))[0].contains("of 200"));
        assert!(none(link(10_000.0, 9.4, 30.0)).is_empty());
        assert!(none(link(10_000.0, 0.94, 30.0))[0].contains("0.94 Gbit/s of 10"));
        assert!(none(link(10_000.0, 9.4, 2_000.0))[0].contains("round trip"));
        let rdma = MeasuredLink { rdma_gbit_s: Some(95.0), ..link(200_000.0, 40.0, 30.0) };
        assert!(none(rdma)[0].contains("95 Gbit/s of 200"), "RDMA can fill it");
        let silent = MeasuredLink { error: Some("no answer".into()), ..link(0.0, 0.0, 0.0) };
        assert!(none(silent)[0].contains("not measured"));
    }

    #[test]
    fn two_ways_of_one_cable_are_alike() {
        let there = link(25_000.0, 12.0, 30.0);
        let back = MeasuredLink { from: "b".into(), to: "a".into(), ..link(25_000.0, 23.0, 30.0) };
        let all = [there.clone(), back.clone()];
        assert!(faults(&there, &all).iter().any(|fault| fault.contains("the other way")));
        assert!(faults(&back, &all).is_empty());
    }
}
