//! Tables as people make them, read without a word of configuration.

use super::*;
use crate::PartialRun;
use sparkbench_model::Status;

fn read(name: &str, text: &str) -> Parsed {
    assert!(Table.sniff(&Head::new(name, text, text.len() as u64)), "{text}");
    let mut input = text.as_bytes();
    Table.parse(&mut SourceFile::new(name, text.len() as u64, &mut input)).unwrap()
}

fn partials(parsed: &Parsed) -> Vec<&PartialRun> {
    parsed.records.iter().map(|r| if let Record::Run(p) = r { &**p } else { panic!("{r:?}") }).collect()
}

fn figures(partial: &PartialRun) -> Vec<(&str, f64)> {
    partial.readings.iter().map(|reading| (reading.metric.as_str(), reading.value)).collect()
}

/// Issue 32, case 15.
#[test]
fn models_by_name_with_rates_of_prefill_and_decode_are_read() {
    let parsed = read(
        "results.csv",
        "name,params_b,quant,device,status,pp_tok_s,tg_tok_s,vram_mb,error,timestamp\n\
         small-4b,3.8,Q4_K_M,gb10,ok,3746.36,59.47,,,2026-03-01T20:35:16Z\n\
         large-8b,7.5,Q4_K_M,gb10,error,,,,out of memory,2026-03-01T20:39:00Z\n",
    );
    let [small, large] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((small.model.as_deref(), &small.status), (Some("small-4b"), &Some(Status::Done)));
    assert_eq!((small.setup.quantisation.as_deref(), small.setup.machine.as_deref()), (Some("Q4_K_M"), Some("gb10")));
    assert_eq!(figures(small), [("prefill_tok_s", 3746.36), ("decode_tok_s", 59.47)]);
    assert_eq!((large.model.as_deref(), matches!(large.status, Some(Status::Failed(_)))), (Some("large-8b"), true));
    assert_eq!(
        parsed.notes[0],
        "columns are read by what they are called: 'name' as model, 'quant' as quantisation, 'device' as machine, 'pp_tok_s' as \
         prefill_tok_s, 'tg_tok_s' as decode_tok_s"
    );
}

/// Issue 32, case 15.
#[test]
fn rows_of_different_contexts_are_different_cells() {
    let parsed = read(
        "gb10.csv",
        "ctx_tokens,prefill_tokens,prefill_tps,gen_tokens,gen_tps,kvcache_bytes\n2048,2048,418.96,128,14.36,52184460\n4096,2048,431.02,128,14.21,69210112\n",
    );
    let [short, long] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((short.workload.as_deref(), long.workload.as_deref()), (Some("ctx2048"), Some("ctx4096")));
    assert_eq!((short.environment.as_deref(), short.setup.more["context_length"].as_str()), (None, "2048"));
    let rates = |prefill, decode| vec![("prefill_tok_s", prefill), ("decode_tok_s", decode)];
    assert_eq!((figures(short), figures(long)), (rates(418.96, 14.36), rates(431.02, 14.21)));
    assert_eq!((parsed.left_out.len(), short.readings[0].origin.field.as_deref()), (0, Some("prefill_tps")));
}

/// Issue 32, case 16.
#[test]
fn a_json_list_of_rows_is_read_as_a_table_and_every_figure_has_its_pointer() {
    let text = "[\n {\"concurrency\": 1, \"n\": 4, \"ttft_p50_ms\": 616.30, \"decode_tps_p50\": 27.15, \"aggregate_tps\": 20.12},\n \
                {\"concurrency\": 4, \"n\": 8, \"ttft_p50_ms\": 5884.1, \"decode_tps_p50\": null, \"aggregate_tps\": 49.2, \"more\": {\"x\": 1}}\n]";
    let parsed = read("bench-base.json", text);
    let [one, four] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((one.setup.batch, four.setup.batch), (Some(1.0), Some(4.0)));
    assert_eq!(figures(one), [("ttft_ms_p50", 616.3), ("decode_tok_s_p50", 27.15), ("output_throughput_tok_s", 20.12)]);
    let reading = &one.readings[0];
    assert_eq!(
        (reading.decimals, reading.origin.line, reading.origin.field.as_deref()),
        (Some(2), Some(2), Some("/0/ttft_p50_ms"))
    );
    assert!(four.readings[1].value.is_nan(), "null is a missing figure");
    assert!(parsed.notes[1].starts_with("column 'n' is not a metric of ours"), "{:?}", parsed.notes);
    let lines = "{\"model\": \"m\", \"gen_tps\": 3}\n{\"model\": \"m\", \"gen_tps\": \"fast\"}\n";
    let parsed = read("rows.jsonl", lines);
    assert_eq!(partials(&parsed).len(), 1);
    assert!(parsed.left_out[0].to_string().contains("line 2, field '/gen_tps'"), "{:?}", parsed.left_out);
}

#[test]
fn seconds_and_mib_become_the_units_of_the_metrics() {
    let parsed = read("runs.csv", "Model,TTFT p95 (s),Peak memory (MiB)\nm,0.120,2048\n");
    let [run] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!(figures(run), [("ttft_ms_p95", 120.0), ("peak_memory_gib", 2.0)]);
    assert_eq!(run.readings[0].decimals, Some(0));
}

#[test]
fn a_row_that_calls_itself_a_warm_up_is_no_run() {
    let parsed = read("runs.csv", "model,phase,ttft_ms\nm,warmup,2400\nm,measure,210\n");
    let [run] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!(figures(run), [("ttft_ms", 210.0)]);
    assert_eq!(parsed.notes[0], "what `phase` calls a warm-up is no run and is not counted");
}

#[test]
fn a_list_of_requests_or_of_samples_is_no_table_of_runs() {
    for text in [
        r#"[{"request_id": 1, "model": "m", "ttft_ms": 3.5}]"#,
        r#"[{"timestamp": 1, "power_w": 3.5, "concurrency": 2}]"#,
        r#"[{"model": "m", "ttft_ms": {"least": {"x": 1}}}]"#,
        r#"{"model": "m", "slo": {"ttft_ms": 500}}"#,
        r#"{"model": "m", "requests": [{"id": 1, "prompt": "p", "ttft_ms": 3.5}]}"#,
        r#"{"model": "m", "ttft_ms": 3.5}"#,
        r#"["model","ttft_ms"]"#,
        "ttft_ms,tpot_ms\n1,2\n",
    ] {
        assert!(!Table.sniff(&Head::new("r.json", text, 1)), "{text}");
    }
}

/// What a person chose is a setting, under the name that its column has. The words of the file's name are found where runs are laid out.
#[test]
fn words_of_a_row_are_settings_of_its_run() {
    let rows = "name,concurrency,cache_type,ttft_p50_ms,error\nm,1,cold,50,\nm,1,warm,20,slow once\n";
    let parsed = read("a.csv", rows);
    let said: Vec<(Option<&str>, Option<&str>)> = partials(&parsed)
        .iter()
        .map(|partial| (partial.workload.as_deref(), partial.setup.more.get("cache_type").map(String::as_str)))
        .collect();
    assert_eq!(said, [(Some("c1"), Some("cold")), (Some("c1"), Some("warm"))]);
}

#[test]
fn answers_and_samples_of_a_run_under_way_are_no_runs() {
    for header in ["model,content,ttft_ms", "timestamp,concurrency,gen_tps,power_w", "ts,concurrency,gen_tps,gpu_util"]
    {
        assert!(!columns::is_rows(&header.split(',').collect::<Vec<_>>()), "{header}");
    }
}

#[test]
fn a_row_without_a_figure_is_left_out_unless_its_status_says_why() {
    let parsed = read("a.csv", "name,status,gen_tps\na,,12\nb,,\nc,failed,\n");
    assert_eq!((partials(&parsed).len(), parsed.left_out.len()), (2, 1));
    assert!(parsed.left_out[0].to_string().contains("line 3: it holds no figure"), "{:?}", parsed.left_out);
}

/// Issue 32: a row that failed was left out, and with it the fact that it did.
#[test]
fn a_row_that_did_not_end_well_is_a_failed_run_with_its_reason() {
    let parsed = read(
        "sweep.csv",
        "model,ctx,conc,status,decode_tps,error\n\
         m,4k,1,ok,59.5,\n\
         m,32K,1,timeout,0,no answer in 600 s\n\
         m,128k,1,OOM,,\n\
         m,1M,1,skipped,,\n\
         m,4k,8,error,,CUDA error\n\
         m,4k,16,ok,oom,\n\
         m,4k,32,baseline,1,\n",
    );
    let found: Vec<(&str, Option<&Status>, usize)> = partials(&parsed)
        .iter()
        .map(|run| {
            (
                run.setup.more["context_length"].as_str(),
                run.status.as_ref(),
                figures(run).iter().filter(|f| f.1.is_finite()).count(),
            )
        })
        .collect();
    let failed = |why: &str| Status::Failed(why.to_owned());
    let expected = [
        ("4096", Status::Done, 1),
        ("32768", failed("timeout: no answer in 600 s"), 0),
        ("131072", failed("out of memory"), 0),
        ("1048576", failed("skipped"), 0),
        ("4096", failed("CUDA error"), 0),
        ("4096", failed("out of memory"), 0),
    ];
    let expected: Vec<(&str, Option<&Status>, usize)> =
        expected.iter().map(|(context, status, figures)| (*context, Some(status), *figures)).collect();
    assert_eq!(found, expected);
    assert!(parsed.left_out[0].to_string().contains("found \"baseline\""), "{:?}", parsed.left_out);
}

/// Issue 32: names of two owners' files.
#[test]
fn aggregates_and_rates_as_tools_call_them_are_read() {
    let parsed = read(
        "concurrency_sweep.json",
        "[{\"conc\": 1, \"reqs\": 8, \"agg_tok_s\": 75.2, \"ttft_p50_ms\": 54.6}, {\"conc\": 2, \"reqs\": 8, \"agg_tok_s\": 123.8, \"ttft_p50_ms\": 61.6}]",
    );
    let [one, two] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!(figures(two), [("output_throughput_tok_s", 123.8), ("ttft_ms_p50", 61.6)]);
    assert_eq!((one.setup.batch, one.setup.requests), (Some(1.0), Some(8.0)));
    let parsed = read(
        "compare_offloading.csv",
        "iteration,input_len,cache_type,mean_ttft_ms,std_ttft_ms,total_token_throughput\n1,100,cpu-cpu,252.5,37.6,5624.8\n",
    );
    assert_eq!(figures(partials(&parsed)[0]), [("ttft_ms", 252.5), ("total_throughput_tok_s", 5624.8)]);
}

/// What stands around rows is said of each of them, and what was measured around them is a row of its own.
#[test]
fn rows_within_an_object_have_the_labels_around_them() {
    let text = r#"{"model": "m", "ts": 1781029717, "smoke": {"ok": true},
        "ttft_ms": {"mean": 46.7, "stdev": 24.0, "runs": [80.6, 31.9]},
        "concurrency": {"1": {"agg_tps": 72.4, "wall_s": 3.54}, "16": {"agg_tps": 763.0, "wall_s": 5.37}}}"#;
    let parsed = read("m.json", text);
    let [one, sixteen, itself] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!(
        (one.model.as_deref(), one.setup.batch, figures(one)),
        (Some("m"), Some(1.0), vec![("output_throughput_tok_s", 72.4)])
    );
    assert_eq!((sixteen.setup.batch, figures(sixteen)), (Some(16.0), vec![("output_throughput_tok_s", 763.0)]));
    assert_eq!(one.readings[0].origin.field.as_deref(), Some("/concurrency/1/agg_tps"));
    assert_eq!((itself.setup.batch, figures(itself)), (None, vec![("ttft_ms", 46.7)]));
    assert_eq!(itself.readings[0].origin.field.as_deref(), Some("/ttft_ms/mean"));
    // Where rows are the repeats of what is around them, they count alone. Requests within a row are none.
    let text = r#"{"model": "m", "version": "0.25.2", "trials": [
        {"concurrency": 1, "trial": 1, "aggregate_token_tps": 38.0, "streams": [{"request": 0, "ttft_ms": 1.0}]},
        {"concurrency": 1, "trial": 2, "aggregate_token_tps": 40.7, "streams": [{"request": 0, "ttft_ms": 1.0}]}],
        "single": {"decode_tps": 25.6, "runs": [{"decode_tps": 25.0}, {"decode_tps": 26.2}]}}"#;
    let parsed = read("trials.json", text);
    let found: Vec<_> =
        partials(&parsed).iter().map(|run| (run.repeat, figures(run), run.setup.more["version"].as_str())).collect();
    let row = |repeat, metric, value| (repeat, vec![(metric, value)], "0.25.2");
    assert_eq!(
        found,
        [
            row(Some(1), "output_throughput_tok_s", 38.0),
            row(Some(2), "output_throughput_tok_s", 40.7),
            row(None, "decode_tok_s", 25.0),
            row(None, "decode_tok_s", 26.2),
        ]
    );
}

#[test]
fn the_keys_of_a_figure_are_workloads_and_keys_that_are_numbers_are_rows() {
    let parsed = read("board.json", r#"{"entries": [{"model": "m", "decode_tok_s": {"short": 62.9, "long": 56.8}}]}"#);
    let found: Vec<_> = partials(&parsed).iter().map(|run| (run.workload.as_deref(), figures(run))).collect();
    assert_eq!(found, [(Some("short"), vec![("decode_tok_s", 62.9)]), (Some("long"), vec![("decode_tok_s", 56.8)])]);
    let parsed =
        read("loads.json", r#"{"1": {"concurrency": 1, "ttft_ms": 5}, "2": {"concurrency": 2, "ttft_ms": 8}}"#);
    assert_eq!(partials(&parsed).iter().map(|run| run.setup.batch).collect::<Vec<_>>(), [Some(1.0), Some(2.0)]);
}
