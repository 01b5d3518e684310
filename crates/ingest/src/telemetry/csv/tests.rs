use super::*;
use crate::PartialRun;

fn read(text: &str) -> (PartialRun, Parsed) {
    let head = Head::new("x_gpu.csv", text, text.len() as u64);
    let mut input = text.as_bytes();
    let mut file = SourceFile::new("x_gpu.csv", text.len() as u64, &mut input);
    let mut parsed = match (SmiCsv.sniff(&head), Script.sniff(&head)) {
        (true, _) => SmiCsv.parse(&mut file).unwrap(),
        (false, true) => Script.parse(&mut file).unwrap(),
        _ => panic!("nobody takes it: {text}"),
    };
    match parsed.records.pop() {
        Some(Record::Run(partial)) => (*partial, parsed),
        other => panic!("{other:?}"),
    }
}

fn faults(parsed: &Parsed) -> Vec<String> {
    parsed.left_out.iter().map(ToString::to_string).collect()
}

#[test]
fn units_are_read_in_the_header_and_beside_the_figure() {
    let (beside, _) = read(
        "timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.current.sm [MHz], temperature.gpu\n\
         2026/09/25 03:21:37.942, 95 %, 512 MiB, 405.68 W, 1980 MHz, 61\n",
    );
    let (header, _) = read(
        "timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.sm [MHz], temperature.gpu\r\n\
         2026/09/25 03:21:37.942, 95, 512, 405.68, 1980, 61\r\n",
    );
    assert_eq!(beside.telemetry, header.telemetry);
    let sample = beside.telemetry[0];
    assert_eq!((sample.power_w, sample.sm_clock_mhz), (Some(405.68), Some(1980.0)));
    assert_eq!(sample.at.iso(), "2026-09-25T03:21:37.942Z");
}

#[test]
fn a_cell_the_driver_cannot_read_is_absent_not_zero() {
    let (partial, parsed) = read(
        "timestamp, memory.used [MiB], power.draw [W]\n2026/09/25 03:21:37, [N/A], 4.1 W\n2026/09/25 03:21:38, [Unknown Error], ERR!\n",
    );
    assert_eq!((partial.telemetry[0].memory_used_mib, partial.telemetry[0].power_w), (None, Some(4.1)));
    assert_eq!((partial.telemetry[1].power_w, parsed.left_out.len()), (None, 0));
}

#[test]
fn a_bad_cell_is_named_and_the_other_rows_stay() {
    let (partial, parsed) =
        read("timestamp, power.draw [W]\n2026/09/25 03:21:37, hot\n2026/09/25 03:21:38, 5 W\n2026/09/25 03:21:39\n");
    assert_eq!(partial.telemetry.len(), 1);
    let faults = faults(&parsed);
    assert!(faults[0].contains("line 2, field 'power.draw [W]': expected a number, found \"hot\""), "{}", faults[0]);
    assert!(faults[1].contains("line 4: expected 2 cells, found 1"), "{}", faults[1]);
}

#[test]
fn a_repeated_header_may_bring_other_fields() {
    let (partial, parsed) = read(
        "timestamp, power.draw [W]\n2026/09/25 03:21:37, 5 W\ntimestamp, temperature.gpu, power.draw [W]\n2026/09/25 03:21:38, 40, 6 W\n",
    );
    assert_eq!(
        (partial.telemetry.len(), partial.telemetry[1].gpu_c, partial.telemetry[1].power_w),
        (2, Some(40.0), Some(6.0))
    );
    assert!(parsed.left_out.is_empty());
}

#[test]
fn without_a_header_units_and_shape_tell_the_columns() {
    let (partial, parsed) = read(
        "2026/09/25 03:21:37.942, 2405 MHz, 10.91 W, 40, 0x0000000000000000, 0 %\n2026/09/25 03:21:38.192, 2548 MHz, 19.98 W, 43, 0x0000000000000020, 95 %\n",
    );
    let last = partial.telemetry[1];
    assert_eq!((last.sm_clock_mhz, last.power_w, last.gpu_c), (Some(2548.0), Some(19.98), Some(43.0)));
    assert_eq!((last.throttle_bits, last.gpu_util_pct), (Some(0x20), Some(95.0)));
    assert!(parsed.notes[0].starts_with("no header"));
    let (partial, parsed) =
        read("2026/09/25 03:21:37.942, 2405, 10.91, 40\n2026/09/25 03:21:38.942, 2405, 10.91, 40\n");
    assert!(partial.telemetry.is_empty(), "a bare number is not a power");
    assert_eq!(read("2026/09/25 03:21:37.942, 40\n").0.telemetry.len(), 0, "without units 40 may be anything");
    assert!(parsed.not_understood[0].contains("2405, 10.91, 40"), "{:?}", parsed.not_understood);
}

#[test]
fn a_figure_in_mhz_that_could_be_two_clocks_is_not_guessed() {
    let (partial, parsed) = read(
        "2026/09/25 03:21:37.942, 2405 MHz, 3201 MHz, 5.0 W\n2026/09/25 03:21:38.942, 2405 MHz, 3201 MHz, 6.0 W\n",
    );
    assert_eq!((partial.telemetry[0].sm_clock_mhz, partial.telemetry[0].power_w), (None, Some(5.0)));
    assert!(parsed.not_understood[0].contains("column 2, 3"), "{:?}", parsed.not_understood);
    assert_eq!(partial.extras.len(), 2, "and nothing is lost: {:?}", partial.extras);
}

#[test]
fn one_row_a_gpu_without_a_time_is_a_look_at_the_machine() {
    let (partial, parsed) = read(
        "index, clocks.current.sm [MHz], clocks.max.sm [MHz], temperature.gpu, power.draw [W]\n0, 1980 MHz, 1980 MHz, 37, 405.68 W\n1, 345 MHz, 1980 MHz, 31, [N/A]\n",
    );
    assert!(partial.telemetry.is_empty() && parsed.left_out.is_empty());
    let names: Vec<String> = partial.extras.iter().map(|extra| extra.name.clone()).collect();
    assert_eq!(
        names,
        [
            "GPU 0, clocks.current.sm",
            "GPU 0, clocks.max.sm",
            "GPU 0, power.draw",
            "GPU 0, temperature.gpu",
            "GPU 1, clocks.current.sm",
            "GPU 1, clocks.max.sm",
            "GPU 1, temperature.gpu"
        ]
    );
}

#[test]
fn reasons_in_columns_of_their_own_become_bits() {
    let (partial, _) = read(
        "timestamp, clocks_throttle_reasons.hw_slowdown, clocks_throttle_reasons.sw_power_cap\n2026/09/25 03:21:37, Not Active, Active\n2026/09/25 03:21:38, [N/A], [N/A]\n",
    );
    assert_eq!((partial.telemetry[0].throttle_bits, partial.telemetry[1].throttle_bits), (Some(4), None));
}

#[test]
fn seconds_elapsed_have_no_date_and_memory_of_the_machine_is_no_memory_of_the_gpu() {
    let (partial, parsed) = read(
        "elapsed_s,power_w,temp_c,sm_mhz,gpu_util,mem_used_mb\n10,38.05,53,2528,96,122875\n20,-1,55,2509,96,122832\n",
    );
    let first = partial.telemetry[0];
    assert!(first.at.is_relative() && first.at.0 == 10_000);
    assert_eq!((first.memory_used_mib, first.host_memory_used_mib), (None, Some(122_875.0)));
    assert_eq!(partial.telemetry[1].power_w, None, "-1 is not a power");
    assert!(parsed.notes.iter().any(|note| note.contains("below zero")), "{:?}", parsed.notes);
}

#[test]
fn epoch_seconds_and_script_names_are_read() {
    let (partial, _) = read(
        "power_limit_w,timestamp,gpu_index,pstate,clk_graphics_mhz,clk_sm_mhz,clk_mem_mhz,power_draw_w,temp_c\n\
         300.0,1780842021.66,0,P2,2415,2400,8001,120.5,61\n300.0,1780842022.66,0,P2,2415,2415,8001,121.5,62\n",
    );
    let sample = partial.telemetry[0];
    assert_eq!((sample.at.0, sample.pstate, sample.power_limit_w), (1_780_842_021_660, Some(2), Some(300.0)));
    assert_eq!(
        (sample.sm_clock_mhz, sample.memory_clock_mhz, sample.power_w),
        (Some(2400.0), Some(8001.0), Some(120.5))
    );
    assert_eq!((partial.extras[0].name.as_str(), partial.extras[0].unit.as_str()), ("clk_graphics_mhz", "MHz"));
}

#[test]
fn serial_numbers_are_never_taken() {
    let (partial, _) = read(
        "timestamp, name, uuid, serial, pci.bus_id, power.draw [W]\n2026/09/25 03:21:37, NVIDIA GB10, GPU-1, 123, 0000000F:01:00.0, 5 W\n2026/09/25 03:21:38, NVIDIA GB10, GPU-1, 123, 0000000F:01:00.0, 5 W\n",
    );
    assert_eq!(partial.setup.machine.as_deref(), Some("NVIDIA GB10"));
    assert_eq!(partial.extras.len(), 1, "{:?}", partial.extras);
}

#[test]
fn tables_of_other_things_are_not_taken() {
    for text in [
        "environment,model,timestamp,power_w\na,m,2026-01-01T00:00:00Z,5\n",
        "date,price\n2026-01-01,3\n",
        "a,b\n1,2\n",
        "1,2,3\n4,5,6\n",
        "{\"timestamp\": 1}",
    ] {
        let head = Head::new("x.csv", text, text.len() as u64);
        assert!(!SmiCsv.sniff(&head) && !Script.sniff(&head), "{text}");
    }
}

#[test]
fn samples_with_the_model_beside_them_are_telemetry() {
    let rows: String = (0..8).map(|k| format!("177100000{k}.500,m.gguf,590{k},6{k}.5,55,2400\n")).collect();
    let (partial, parsed) = read(&format!("timestamp,model,vram_mb,power_w,temp_c,clock_mhz\n{rows}"));
    assert_eq!((partial.telemetry.len(), partial.telemetry[7].power_w), (8, Some(67.5)));
    assert!(parsed.left_out.is_empty() && partial.readings.is_empty());
}

#[test]
fn only_above_the_header_a_hash_begins_a_comment() {
    let (partial, parsed) =
        read("# a note\ntimestamp, power.draw [W]\n2026/09/25 03:21:37, 5 W\n# a remark\n2026/09/25 03:21:38, 6 W\n");
    assert_eq!(partial.telemetry.len(), 2);
    let faults = faults(&parsed);
    assert!(faults[0].contains("line 4: expected 2 cells, found 1"), "{faults:?}");
}
