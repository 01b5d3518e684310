//! The kept part of a file, and that no content can make it grow.

use std::io::{self, Read as _};

use super::*;

fn shown(bytes: &[u8], lines: &[u64], pointers: &[&str]) -> RawText {
    let named =
        Named { lines: lines.iter().copied().collect(), pointers: pointers.iter().map(|p| (*p).to_owned()).collect() };
    read("a/x.log", "run", bytes.len() as u64, bytes, &named).expect("text")
}

fn numbers(text: &RawText) -> Vec<u64> {
    text.rows.iter().map(|row| row.number).collect()
}

#[test]
fn a_short_file_is_kept_whole() {
    let text = shown(b"one\ntwo\r\nthree", &[2], &[]);
    assert_eq!(text.rows.iter().map(|row| row.text.as_str()).collect::<Vec<_>>(), ["one", "two", "three"]);
    assert_eq!((text.total, text.stopped), (3, None));
}

#[test]
fn of_a_long_file_the_end_and_the_surroundings_of_named_lines_are_kept() {
    let log: String = (1..=10_000).map(|n| format!("line {n}\n")).collect();
    let text = shown(log.as_bytes(), &[5_000], &[]);
    let kept = numbers(&text);
    assert_eq!((text.total, kept), (10_000, (4_997..=5_003).chain(9_977..=10_000).collect::<Vec<_>>()));
}

#[test]
fn every_named_line_is_kept_however_many_there_are() {
    let log: String = (1..=5_000).map(|n| format!("row {n}\n")).collect();
    let named: Vec<u64> = (1..=5_000).step_by(3).collect();
    let text = shown(log.as_bytes(), &named, &[]);
    assert!(named.iter().all(|number| text.row(*number).is_some()));
}

#[test]
fn gigabytes_on_one_line_and_gigabytes_of_lines_cost_no_more_than_the_excerpt() {
    let endless = io::BufReader::new(io::repeat(b'x').take(64 << 20));
    let text = read("x.log", "run", 64 << 20, endless, &Named::default()).unwrap();
    let row = &text.rows[0];
    assert_eq!(text.rows.len(), 1);
    assert!(row.text.len() <= 400 && row.cut > 0, "{} bytes, {} cut", row.text.len(), row.cut);
    let lines = io::BufReader::new(io::repeat(b'\n').take(8 << 20));
    let text = read("x.log", "run", 8 << 20, lines, &Named::default()).unwrap();
    assert_eq!(text.total, 8 << 20);
    assert!(text.rows.len() <= 30, "{} rows", text.rows.len());
}

#[test]
fn a_document_on_one_line_is_written_out_and_every_pointer_has_a_row() {
    let document = format!(
        r#"{{"ttft":{{"mean":12.50,"all":[{}]}},"a/b":{{"~":true}},"runs":[{{"x":1}},{{"x":2}}],"none":[]}}"#,
        vec!["1"; 600].join(",")
    );
    let text =
        shown(document.as_bytes(), &[1], &["/ttft/mean", "/ttft/all/599", "/a~1b/~0", "/runs/1/x", "/none", "/no"]);
    let at = |pointer: &str| {
        let origin =
            sparkbench_model::Origin { file: String::new(), line: Some(1), field: Some(pointer.into()), rule: "r" };
        text.row_of(&origin).map(|row| row.text.trim().to_owned())
    };
    assert_eq!(text.shape, Shape::Values);
    assert_eq!(at("/ttft/mean").as_deref(), Some("\"mean\": 12.50,"));
    assert!(at("/ttft/all/599").is_some_and(|row| row.starts_with("\"all\": [1, 1") && row.ends_with("… 588 more]")));
    assert_eq!(at("/a~1b/~0").as_deref(), Some("\"~\": true"));
    assert_eq!(at("/runs/1/x").as_deref(), Some("\"x\": 2"));
    assert_eq!(at("/none").as_deref(), Some("\"none\": []"));
    assert_eq!(at("/no").as_deref(), Some("{"), "the nearest that is there");
}

#[test]
fn a_document_with_lines_keeps_them_and_pointers_find_theirs() {
    let text = shown(b"{\n \"a\": {\n  \"b\": 1\n }\n}\n", &[], &["/a/b", "/c"]);
    assert_eq!((text.shape, text.pointers.get("/a/b"), text.pointers.get("/c")), (Shape::Lines, Some(&3), None));
}

#[test]
fn a_packed_file_is_shown_unpacked_and_bytes_that_are_no_text_are_not_shown() {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(b"one\ntwo\n").unwrap();
    let packed = packer.finish().unwrap();
    let text = shown(&packed, &[2], &[]);
    assert!(text.packed && text.row(2).is_some_and(|row| row.text == "two"));
    let cut = shown(&packed[..packed.len() - 12], &[], &[]);
    assert!(cut.stopped.is_some() || cut.total <= 2);
    assert_eq!(read("x.bin", "run", 4, &b"a\0b\n"[..], &Named::default()), None);
}

#[test]
fn nothing_is_no_row() {
    assert_eq!((shown(b"", &[], &[]).total, shown(b"", &[4], &["/a"]).rows.len()), (0, 0));
}

#[test]
fn texts_of_requests_are_on_no_page() {
    let one_line = br#"{"completed": 2, "generated_texts": ["a secret [of] \"mine\"", "b"], "errors": ["", "HTTP 503 somebody"], "mean_ttft_ms": 5.5}"#;
    let pretty = serde_json::to_vec_pretty(&serde_json::from_slice::<serde_json::Value>(one_line).unwrap()).unwrap();
    let two_lines = [one_line.as_slice(), b"\n", one_line.as_slice(), b"\n"].concat();
    let cut = &one_line[..60];
    for bytes in [one_line.as_slice(), &pretty, &two_lines, cut] {
        let text = shown(bytes, &[1], &["/mean_ttft_ms"]);
        let all: String = text.rows.iter().map(|row| row.text.as_str()).collect();
        assert!(all.contains("completed") && all.contains("not shown"), "{all}");
        assert!(!all.contains("secret") && !all.contains("503") && !all.contains("mine"), "{all}");
        assert!(bytes.len() == cut.len() || all.contains("5.5"), "{all}");
    }
    let nothing = br#"{"errors": [], "output": {"a": 1}, "prompt": 4}"#;
    assert_eq!(shown(nothing, &[1], &[]).rows[0].text.as_bytes(), nothing);
}
