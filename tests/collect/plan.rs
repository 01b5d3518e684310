//! A suite from its text to the list of its runs: faults all at once, the order for ever, properties of any plan.
#![cfg(feature = "collect")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sparkbench::plan::cells::Restrictions;
use sparkbench::plan::{Cell, Kinds, PageCache, Parsed, Plan, Suite, estimate, expand, only, show};

const KINDS: Kinds<'static> = Kinds {
    environments: &["native", "chroot", "docker", "podman", "nspawn"],
    workloads: &["command", "trtllm-bench", "gpu-probe", "python"],
};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// The cells of a plan with the number of their runs.
fn counts(plan: &Plan) -> BTreeMap<Cell, usize> {
    let mut counts = BTreeMap::new();
    for run in &plan.runs {
        *counts.entry(Cell::of(run)).or_insert(0) += 1;
    }
    counts
}

#[track_caller]
fn golden(name: &str, text: &str) {
    let path = here("golden/plan").join(name);
    if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, text, "{name} differs from its golden text; SPARKBENCH_GOLDEN=1 rewrites it");
}

/// Faults as a person meets them.
fn faults(parsed: Parsed) -> String {
    parsed.faults.into_result("suite.toml").err().map(|error| error.to_string()).unwrap_or_default()
}

#[track_caller]
fn sound(text: &str) -> Suite {
    let parsed = Suite::parse(text, &KINDS);
    let suite = parsed.suite.clone().unwrap();
    assert_eq!(faults(parsed), "");
    suite
}

fn plan(suite: &Suite) -> Plan {
    let restrictions = Restrictions::of(suite);
    expand(suite, &|cell| restrictions.allows(cell))
}

/// A suite of so many environments, models and workloads.
fn suite_of(environments: usize, models: usize, workloads: usize, repeats: u32, more: &str) -> Suite {
    let mut text =
        format!("schema = \"sparkbench.suite/1\"\nname = \"made\"\nrepeats = {repeats}\nbaseline = \"e1\"\n{more}\n");
    for e in 1..=environments {
        text += &format!("[environments.e{e}]\nkind = \"native\"\n");
    }
    for m in 1..=models {
        text += &format!("[models.m{m}]\nid = \"org/m{m}\"\n");
    }
    for w in 1..=workloads {
        text += &format!("[workloads.w{w}]\nkind = \"command\"\n");
    }
    sound(&text)
}

#[test]
fn every_fault_of_a_bad_suite_is_told_at_once_with_its_line_and_its_remedy() {
    let text = fs::read_to_string(here("fixtures/plan/bad.toml")).unwrap();
    golden("bad.txt", &faults(Suite::parse(&text, &KINDS)));
}

#[test]
fn every_error_of_syntax_is_told_at_once_and_nothing_else() {
    let text = "schema = \"sparkbench.suite/1\nname = nothing\n\n[environments.native\n[environments.native]\nkind = \"native\"\nkind = \"docker\"\n";
    let parsed = Suite::parse(text, &KINDS);
    assert!(parsed.suite.is_none());
    golden("syntax.txt", &faults(parsed));
}

#[test]
fn no_text_makes_the_reader_stumble() {
    let good = fs::read_to_string(here("fixtures/plan/bad.toml")).unwrap();
    // Every beginning of a file, every file without one of its lines, every file with one line twice.
    let lines: Vec<&str> = good.lines().collect();
    for at in 0..lines.len() {
        let without: Vec<&str> = lines.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, l)| *l).collect();
        assert!(!Suite::parse(&without.join("\n"), &KINDS).faults.is_empty());
        let twice = format!("{}\n{good}", lines[at]);
        assert!(!Suite::parse(&twice, &KINDS).faults.is_empty());
    }
    for end in (0..good.len()).filter(|end| good.is_char_boundary(*end)) {
        assert!(!Suite::parse(&good[..end], &KINDS).faults.is_empty(), "{end}");
    }
    for text in ["", "\u{feff}", "\0", "[[[[", "a.b.c = 1", "environments = []", "environments = [[]]\nskip = 3", "é"]
    {
        assert!(!Suite::parse(text, &KINDS).faults.is_empty(), "{text:?}");
    }
}

#[test]
fn parts_stand_in_the_order_of_the_file_and_take_their_kind_from_their_label() {
    let suite = sound(
        r#"
        schema = "sparkbench.suite/1"
        name = "order"
        repeats = 3
        baseline = "native"
        [environments]
        native = {}
        docker = { page_cache = "drop" }
        aaa = { kind = "docker" }
        [models."qwen2.5-7b"]
        id = "Qwen/Qwen2.5-7B-Instruct"
        [workloads.gpu-probe]
        [workloads.b]
        kind = "command"
        "#,
    );
    let kinds: Vec<_> = suite.environments.iter().map(|part| (part.label.as_str(), part.kind.as_str())).collect();
    assert_eq!(kinds, [("native", "native"), ("docker", "docker"), ("aaa", "docker")]);
    assert_eq!(suite.workloads.iter().map(|part| part.kind.as_str()).collect::<Vec<_>>(), ["gpu-probe", "command"]);
    assert_eq!((suite.page_cache("docker"), suite.page_cache("native")), (PageCache::Drop, PageCache::Keep));
    assert_eq!(suite.seed, 42);
}

#[test]
fn a_gate_is_off_when_the_suite_says_false() {
    let suite = suite_of(
        1,
        0,
        1,
        3,
        "[gates]\ngpu_temp_max_c = false\ncooldown_min_s = false\nhost_load_max_per_core = 2\n[watchdogs]\nmemory_floor_gib = false",
    );
    assert_eq!(suite.gates.gpu_temp_max_c, None);
    assert_eq!(suite.gates.cooldown_min_s, 0.0);
    assert_eq!(suite.gates.host_load_max_per_core, Some(2.0));
    assert_eq!(suite.gates.memory_available_min_gib, Some(6.0));
    assert_eq!(suite.watchdogs.memory_floor_gib, None);
    assert_eq!(suite.models.len(), 1);
    assert_eq!(suite.models[0].label, "none");
}

#[test]
fn what_weakens_an_experiment_is_a_warning_and_no_fault() {
    let text = "schema = \"sparkbench.suite/1\"\nname = \"weak\"\nrepeats = 2\norder = \"blocked\"\n[environments.native]\n[environments.docker]\n\
                [environments.podman]\n[workloads.command]\nenvironments = [\"native\", \"docker\"]\n";
    let parsed = Suite::parse(text, &KINDS);
    let told: Vec<String> =
        parsed.warnings.iter().map(|warning| format!("{warning}\n  {}\n", warning.remedy)).collect();
    golden("weak.txt", &told.concat());
    assert_eq!(faults(parsed), "");
}

#[test]
fn the_order_of_a_seed_is_fixed_for_ever() {
    let line = |run: &sparkbench::archive::manifest::PlannedRun| {
        format!("{} {}\n", run.block.map_or_else(|| "-".to_owned(), |block| block.to_string()), run.id)
    };
    let shown = |suite: &Suite| plan(suite).runs.iter().map(line).collect::<String>();
    golden("order.txt", &shown(&suite_of(3, 2, 1, 4, "seed = 42")));
    golden("order-blocked.txt", &shown(&suite_of(2, 2, 1, 2, "seed = 7\norder = \"blocked\"")));
    assert_ne!(shown(&suite_of(3, 2, 1, 4, "seed = 42")), shown(&suite_of(3, 2, 1, 4, "seed = 43")));
}

#[test]
fn any_plan_runs_each_cell_as_often_as_asked_in_blocks_of_one_run_per_environment() {
    for (environments, models, workloads, repeats) in
        [(1, 0, 1, 1), (2, 0, 1, 10), (2, 3, 1, 10), (3, 2, 2, 7), (4, 1, 3, 8), (5, 2, 1, 20), (7, 1, 1, 14)]
    {
        for seed in [0, 1, 42, 9_007_199_254_740_993_u64] {
            let suite = suite_of(environments, models, workloads, repeats, &format!("seed = {seed}"));
            let plan = plan(&suite);
            let cells = environments * models.max(1) * workloads;
            assert_eq!(plan.runs.len(), cells * repeats as usize);
            let counts = counts(&plan);
            assert_eq!(counts.len(), cells);
            assert!(counts.values().all(|n| *n == repeats as usize));
            for (at, run) in (1..).zip(&plan.runs) {
                assert_eq!(run.position, Some(at));
            }
            let ids: BTreeSet<&str> = plan.runs.iter().map(|run| run.id.as_str()).collect();
            assert_eq!(ids.len(), plan.runs.len());
            let mut number = 0;
            for block in plan.runs.chunk_by(|a, b| a.block == b.block) {
                number += 1;
                assert!(block.iter().all(|run| run.block == Some(number)));
                assert!(block.iter().all(|run| {
                    (&run.model, &run.workload, run.repeat) == (&block[0].model, &block[0].workload, block[0].repeat)
                }));
                let different: BTreeSet<&str> = block.iter().map(|run| run.environment.as_str()).collect();
                assert_eq!((different.len(), block.len()), (environments, environments));
            }
            assert_eq!(number as usize, models.max(1) * workloads * repeats as usize);
            // Round after round: the repeats never go back.
            assert!(plan.runs.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat));
            balanced(&plan, environments);
        }
    }
}

/// Under each model and workload, over all blocks, each environment has stood in each place equally often, or once more than another.
fn balanced(plan: &Plan, environments: usize) {
    let mut orders: BTreeMap<(&str, &str), Vec<Vec<&str>>> = BTreeMap::new();
    for block in plan.runs.chunk_by(|a, b| a.block == b.block) {
        let order = block.iter().map(|run| run.environment.as_str()).collect();
        orders.entry((&block[0].model, &block[0].workload)).or_default().push(order);
    }
    for orders in orders.values() {
        let (least, most) = (orders.len() / environments, orders.len().div_ceil(environments));
        for place in 0..environments {
            let mut times: BTreeMap<&str, usize> = BTreeMap::new();
            orders.iter().for_each(|order| *times.entry(order[place]).or_default() += 1);
            assert!(times.values().all(|times| (least..=most).contains(times)), "{place}: {orders:?}");
        }
    }
}

#[test]
fn blocked_runs_finish_one_environment_before_the_next_and_belong_to_no_block() {
    let plan = plan(&suite_of(3, 2, 2, 5, "order = \"blocked\""));
    let stretches: Vec<&str> =
        plan.runs.chunk_by(|a, b| a.environment == b.environment).map(|s| s[0].environment.as_str()).collect();
    assert_eq!(stretches, ["e1", "e2", "e3"]);
    assert!(plan.runs.iter().all(|run| run.block.is_none()));
    assert!(counts(&plan).values().all(|n| *n == 5));
}

#[test]
fn the_analysis_takes_an_interleaved_plan_for_interleaved_and_a_blocked_one_for_blocked() {
    use sparkbench::stats::order::{OrderKind, order};
    for (more, kind) in [("", OrderKind::Interleaved), ("order = \"blocked\"", OrderKind::Blocked)] {
        let plan = plan(&suite_of(3, 2, 2, 6, more));
        for (model, workload) in [("m1", "w1"), ("m2", "w1"), ("m1", "w2"), ("m2", "w2")] {
            for arms in [vec!["e1", "e2"], vec!["e1", "e3"], vec!["e1", "e2", "e3"]] {
                let labels: Vec<usize> = plan
                    .runs
                    .iter()
                    .filter(|run| run.model == model && run.workload == workload)
                    .filter_map(|run| arms.iter().position(|arm| *arm == run.environment))
                    .collect();
                assert_eq!(order(&labels).unwrap().kind, kind, "{arms:?}");
            }
        }
    }
}

#[test]
fn adding_a_model_leaves_the_order_of_environments_under_the_others_as_it_was() {
    let orders = |models| {
        let plan = plan(&suite_of(4, models, 1, 8, ""));
        let of_first = plan.runs.iter().filter(|run| run.model == "m1");
        of_first.map(|run| run.environment.clone()).collect::<Vec<_>>()
    };
    assert_eq!(orders(1), orders(3));
}

#[test]
fn cells_are_left_out_with_their_reason() {
    let text = r#"
        schema = "sparkbench.suite/1"
        name = "skips"
        repeats = 3
        baseline = "native"
        [environments.native]
        [environments.docker]
        [models.small]
        [models.large]
        [workloads.command]
        [workloads.gpu-probe]
        environments = ["native"]
        models = ["small"]
        [[skip]]
        environment = "dock*"
        model = "large"
        reason = "does not fit beside the daemon"
    "#;
    let suite = sound(text);
    let plan = plan(&suite);
    let left_out: Vec<String> = plan.left_out.iter().map(|(cell, why)| format!("{}: {why}", cell.path())).collect();
    assert_eq!(
        left_out,
        [
            "docker/large/command: does not fit beside the daemon",
            "docker/small/gpu-probe: the workload is not meant for it",
            "native/large/gpu-probe: the workload is not meant for it",
            "docker/large/gpu-probe: does not fit beside the daemon",
        ]
    );
    assert_eq!(plan.runs.len(), 12);
    // A block holds one run of each environment that is left.
    let lonely = plan.runs.iter().filter(|run| run.workload == "gpu-probe").map(|run| run.block.unwrap());
    assert_eq!(lonely.collect::<BTreeSet<_>>().len(), 3);
    let nothing = format!("{text}\n[[skip]]\nworkload = \"*\"\nreason = \"a holiday\"");
    assert!(faults(Suite::parse(&nothing, &KINDS)).contains("leave no run"));
}

#[test]
fn ids_are_lawful_names_of_files_and_containers() {
    let long = "x".repeat(60);
    let text = format!(
        "schema = \"sparkbench.suite/1\"\nname = \"long\"\nrepeats = 1001\n[environments.{long}]\nkind = \"native\"\n\
         [models.{long}]\n[workloads.{long}]\nkind = \"command\"\n"
    );
    let plan = plan(&sound(&text));
    assert_eq!(plan.runs.len(), 1001);
    assert!(plan.runs[0].id.starts_with("0001-") && plan.runs[1000].id.ends_with("-r1001"));
    for run in &plan.runs {
        assert!(run.id.len() <= 100, "{}", run.id);
        assert_eq!(sparkbench::ingest::slug(&run.id), run.id);
    }
}

#[test]
fn only_keeps_what_it_names_and_says_what_there_is_when_it_names_nothing() {
    let whole = plan(&suite_of(2, 2, 1, 3, ""));
    let ids = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
        only(&whole, &patterns).map(|plan| plan.runs.len())
    };
    for (patterns, count) in [
        (&[][..], 12),
        (&["e1*"], 6),
        (&["e1/*"], 6),
        (&["*/m2/*"], 6),
        (&["e1/m1/w1", "e2/m2/w1"], 6),
        (&["001-*"], 1),
        (&["001-*", "00[1-4]-*"], 4),
        (&["*-r02"], 4),
    ] {
        assert_eq!(ids(patterns).unwrap(), count, "{patterns:?}");
    }
    let part = only(&whole, &["e1/m1/*".to_owned()]).unwrap();
    assert_eq!(part.left_out.len(), 3);
    assert!(part.runs.iter().all(|run| whole.runs.contains(run)), "ids, blocks and positions stay");
    golden("only.txt", &ids(&["e1/*", "docker/*"]).unwrap_err().to_string());
    assert!(ids(&["[a"]).unwrap_err().to_string().contains("is not a glob"));
    let cell = Cell::of(&whole.runs[0]);
    assert_eq!(cell.path().split('/').count(), 3);
}

#[test]
fn the_dry_run_says_what_will_be_done_and_how_long_it_takes() {
    let text = r#"
        schema = "sparkbench.suite/1"
        name = "shown"
        title = "What a dry run shows"
        question = "Does it read well?"
        repeats = 2
        order = "blocked"
        [[hypotheses]]
        claim = "docker is as fast as native"
        expect = "equivalent"
        [environments.native]
        [environments.docker]
        page_cache = "drop"
        [models.small]
        [models.large]
        [workloads.command]
        [[skip]]
        environment = "docker"
        model = "large"
        reason = "does not fit"
        [gates]
        swap_used_max_gib = 1
    "#;
    let parsed = Suite::parse(text, &KINDS);
    let suite = parsed.suite.clone().unwrap();
    let plan = plan(&suite);
    let estimate = estimate(&plan, suite.gates.cooldown_min_s, &|run| (run.model == "small").then_some(60.0));
    golden("show.txt", &show(&suite, &plan, &parsed.warnings, &estimate));
    let one = suite_of(1, 0, 1, 3, "[gates]\ncooldown_min_s = 0");
    let plan = expand(&one, &|_| true);
    let estimate = sparkbench::plan::estimate(&plan, 0.0, &|_| Some(1.0));
    golden("show-one.txt", &show(&one, &plan, &[], &estimate));
}
