//! Expressions over figures written down here: their results, and the messages for wrong ones.

use super::*;

/// A run of three requests, of which one failed.
struct Scene {
    requests: Requests,
}

fn scene() -> Scene {
    let mut requests = Requests::new();
    requests.count = 4;
    requests.answered = vec![true, true, true, false];
    let place = |name: &str| FIELDS.iter().position(|field| field.0 == name).unwrap();
    requests.columns[place("ttft_ms")] = vec![100.0, 150.0, 250.0, f64::NAN];
    requests.columns[place("tpot_ms")] = vec![20.0, 30.0, f64::NAN, f64::NAN];
    requests.columns[place("e2e_latency_ms")] = vec![1100.0, 3150.0, 250.0, f64::NAN];
    requests.columns[place("output_tokens")] = vec![51.0, 101.0, 1.0, f64::NAN];
    Scene { requests }
}

impl RunFigures for Scene {
    fn figure(&self, name: &str) -> Result<f64, String> {
        match name {
            "output_throughput_tok_s" => Ok(600.0),
            "power_w" => Ok(300.0),
            "batch" => Ok(8.0),
            "gpu_util_pct" => Ok(0.0),
            _ => Err(format!("{name} is not reported")),
        }
    }

    fn reported(&self, name: &str) -> Result<f64, String> {
        if name == "preemptions" { Ok(3.0) } else { Err(format!("nothing is reported as '{name}'")) }
    }

    fn requests(&self) -> Result<&Requests, String> {
        Ok(&self.requests)
    }

    fn server(&self, asked: &ServerFigure) -> Result<f64, String> {
        match asked.what {
            ServerWhat::Rate if asked.name == "vllm:prompt_tokens_total" => Ok(12.5),
            ServerWhat::HistogramQuantile(q) => Ok(q),
            _ => Err("not there".to_owned()),
        }
    }
}

fn formula(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

#[test]
fn expressions_give_what_is_worked_out_by_hand() {
    for (text, value, unit) in [
        ("output_throughput_tok_s / power_w", 2.0, "tok/(s·W)"),
        ("convert(output_throughput_tok_s / power_w, 'tok/kWh')", 7.2e6, "tok/kWh"),
        ("1000 * number(power_w) - 1", 299_999.0, ""),
        ("output_throughput_tok_s / batch", 75.0, "tok/s"),
        ("mean(ttft_ms)", 500.0 / 3.0, "ms"),
        ("p50(e2e_ms / output_tokens)", 250.0f64.min(1100.0 / 51.0).max(3150.0 / 101.0), "ms/tok"),
        ("quantile(ttft_ms, 0.5)", 150.0, "ms"),
        // The failed request and the one without TPOT count as not met.
        ("share(ttft_ms < 200 and tpot_ms < 25)", 0.25, ""),
        ("share(ttft_ms < 200 or tpot_ms < 25)", 0.5, ""),
        ("share(not ttft_ms < 200)", 0.25, ""),
        ("share(tpot_ms is null)", 0.25, ""),
        ("convert(share(ttft_ms between 100 and 200), '%')", 50.0, "%"),
        ("count(tpot_ms)", 2.0, "req"),
        ("count(ttft_ms > 120)", 2.0, "req"),
        ("max(ttft_ms) - min(ttft_ms)", 150.0, "ms"),
        ("sum(output_tokens)", 153.0, "tok"),
        ("sd(tpot_ms)", 50.0f64.sqrt(), "ms"),
        ("mean(coalesce(tpot_ms, 0))", 50.0 / 3.0, "ms"),
        ("last(ttft_ms)", 250.0, "ms"),
        ("mean(case when ttft_ms > 120 then 1 else 0 end)", 2.0 / 3.0, ""),
        ("rate(\"vllm:prompt_tokens_total\") * 2", 25.0, ""),
        ("rate('vllm:prompt_tokens_total')", 12.5, ""),
        ("histogram_quantile(0.95, \"x:y_seconds\")", 0.95, ""),
        ("reported('preemptions') / count(ttft_ms)", 1.0, ""),
        ("power(2, 10) * power_w", 307_200.0, "W"),
        ("greatest(abs(0 - 5), sqrt(16), ln(exp(2))) + 0 * batch", 5.0, ""),
        ("-batch % 3 + 2 * (1 + 1)", -2.0 + 4.0, ""),
        ("mean(ttft_ms * batch)", 4000.0 / 3.0, "ms"),
        ("case when power_w > 200 then batch else 0 end", 8.0, ""),
    ] {
        let formula = formula(text);
        let found = formula.work_out(&scene()).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert!((found - value).abs() <= 1e-9 * value.abs().max(1.0), "{text}: {found}, expected {value}");
        assert_eq!(formula.unit().map(ToString::to_string).unwrap_or_default(), unit, "{text}");
    }
}

#[test]
fn what_has_no_figure_says_why() {
    for (text, why) in [
        ("ttft_ms_p99 / 2", "ttft_ms_p99 is not reported"),
        ("power_w / gpu_util_pct", "division by zero"),
        ("power(power(10, 300), 10) * batch", "the result is not a finite number"),
        ("mean(reasoning_tokens)", "no request has a value: reasoning_tokens is not known"),
        ("mean(ttft_ms / (turn - turn))", "no request has a value: turn is not known"),
        ("mean(ttft_ms / (ttft_ms - ttft_ms))", "no request has a value: division by zero"),
        ("mean(ttft_ms * itl_ms)", "no request has a value: itl_ms is not reported"),
        ("case when power_w > 400 then 1 end", "no branch of 'case' holds"),
        ("reported('x')", "nothing is reported as 'x'"),
        ("ln(0 * batch)", "the result is not a finite number"),
        ("sqrt(0 - batch)", "the result is not a finite number"),
    ] {
        assert_eq!(formula(text).work_out(&scene()), Err(why.to_owned()), "{text}");
    }
}

#[test]
fn a_wrong_expression_is_named_with_its_column_and_the_nearest_name() {
    for (text, column, what, remedy) in [
        (
            "output_throughput_toks / power_w",
            Some(1),
            "names \"output_throughput_toks\"",
            "did you mean output_throughput_tok_s?",
        ),
        ("power_w / batchs", Some(11), "names \"batchs\"", "did you mean batch?"),
        ("ttft_ms + power_w", None, "adds or compares ms and W", "measure different things"),
        ("ttft_ms + model_load_s", None, "adds or compares ms and s", "convert(…, 'ms')"),
        ("ttft_ms < 200", None, "is a condition, not a figure", "share(condition)"),
        ("e2e_ms", Some(1), "which has one value a request", "mean(e2e_ms)"),
        ("share(ttft_ms)", None, "a figure where a condition belongs", "compare it"),
        ("mean(p99(ttft_ms))", None, "p99 inside of another aggregate", "remove one"),
        ("mean(power_w)", None, "gives mean no figure of a request", "name a figure of one request"),
        ("meen(ttft_ms)", None, "calls meen", "did you mean mean?"),
        ("sqrt(1, 2) * batch", None, "gives sqrt 2 arguments", "give it 1"),
        ("power_w ^ 2", None, "has the operator ^", "write power(x, y)"),
        ("power_w power_w", Some(9), "ends before \"power_w\"", "join both parts"),
        ("power_w +", None, "cannot be read", "correct it"),
        ("(power_w", None, "cannot be read", "correct it"),
        ("'text'", None, "which is not a number", "use texts only in"),
        ("\"power_w\"", Some(1), "in quotes, outside of a function", "write rate("),
        ("1 + 1", None, "names no figure of a run", "name a metric"),
        ("", None, "is empty", "give an expression"),
        ("(select 1) + batch", None, "not part of an expression", "use + - * /"),
        ("rate(ttft_ms)", None, "gives rate no name in quotes", "write rate("),
        ("rate(\"a b\")", None, "a name that no server's metric has", "write rate("),
        ("convert(power_w, 'furlong')", None, "which is not a known unit", "write a unit"),
        ("convert(power_w, 's')", None, "converts W to s", "one quantity"),
        ("convert(reported('x'), 's')", None, "no known unit", "number(…)"),
        ("not power_w", None, "a figure where a condition belongs", "compare it"),
        ("(power_w > 1) + 1", None, "calculates with a condition", "case when"),
    ] {
        let fault = Formula::parse(text).expect_err(text);
        assert!(fault.what.contains(what), "{text}: {fault:?}");
        assert!(fault.remedy.contains(remedy), "{text}: {fault:?}");
        if column.is_some() {
            assert_eq!(fault.column, column, "{text}: {fault:?}");
        }
    }
}

#[test]
fn the_unit_is_held_against_the_one_that_was_written() {
    let energy = formula("output_throughput_tok_s / power_w");
    assert_eq!(energy.fits("tok/J"), Ok(()));
    assert_eq!(energy.fits("points"), Ok(()), "an unknown unit is not checked");
    let fault = energy.fits("tok/s").unwrap_err();
    assert!(fault.what.contains("gives tok/(s·W), and the unit is tok/s"), "{fault:?}");
    let fault = formula("mean(e2e_ms)").fits("s").unwrap_err();
    assert!(fault.remedy.starts_with("write convert(…, 's') around it"), "{fault:?}");
    assert_eq!(formula("rate(\"a:b\")").fits("tok/s"), Ok(()));
}

#[test]
fn hostile_expressions_end_with_a_message() {
    let deep = format!("{}batch{}", "(".repeat(900), ")".repeat(900));
    let many_signs = format!("{}batch", "- ".repeat(900));
    let many_nots = format!("share({} ttft_ms < 1)", "not ".repeat(400));
    for text in [deep, many_signs, many_nots] {
        let fault = Formula::parse(&text).unwrap_err();
        assert!(fault.what.contains("words and signs"), "{fault:?}");
    }
    let deep = format!("{}batch{}", "(".repeat(100), ")".repeat(100));
    let many_signs = format!("{}batch", "- ".repeat(200));
    let many_nots = format!("share({} ttft_ms < 1)", "not ".repeat(200));
    let calls = format!("{}batch{}", "abs(".repeat(60), ")".repeat(60));
    for text in [deep, many_signs, many_nots, calls] {
        let fault = Formula::parse(&text).unwrap_err();
        // Inside of a function the parser tries something else first, and says what it missed there.
        let said = ["nested too deeply", "cannot be read"].iter().any(|words| fault.what.contains(words));
        assert!(said, "{text}: {fault:?}");
    }
    assert_eq!(formula("((((((((batch))))))))").work_out(&scene()), Ok(8.0));
    let long = format!("batch{}", " + batch".repeat(400));
    assert!(Formula::parse(&long).unwrap_err().what.contains("characters"));
    // A long chain is no nesting: it is computed.
    let chain = format!("batch{}", "+batch".repeat(120));
    assert_eq!(formula(&chain).work_out(&scene()), Ok(8.0 * 121.0));
    let longer = format!("batch{}", "+batch".repeat(140));
    assert!(Formula::parse(&longer).unwrap_err().what.contains("has 281 words and signs"));
    let cases = "case when batch > 1 then ".repeat(40) + "1" + &" end".repeat(40);
    let _ = Formula::parse(&cases);
    for text in ["power(9, power(9, power(9, 9))) * batch", "1e308 * 1e308 * batch", "batch / 0", "batch % 0"] {
        assert!(formula(text).work_out(&scene()).is_err(), "{text}");
    }
    for text in ["1e999 * batch", "\u{0}", "🦀 + 1", "batch; drop table runs", "batch -- comment", "*", "batch @> 1"]
    {
        if let Ok(formula) = Formula::parse(text) {
            let _ = formula.work_out(&scene());
        }
    }
}

#[test]
fn every_function_that_is_listed_is_known() {
    for (name, _, fewest, _, _) in FUNCTIONS {
        let arguments = vec!["batch"; *fewest].join(", ");
        formula(&format!("{name}({arguments})"));
    }
    for (name, _) in SERVER_FUNCTIONS {
        let first = if *name == "histogram_quantile" { "0.5, " } else { "" };
        formula(&format!("{name}({first}\"a:b\")"));
    }
    for Field(name, others, ..) in FIELDS {
        others.iter().chain([name]).for_each(|name| drop(formula(&format!("mean({name})"))));
    }
    for Field(name, others, ..) in SETTINGS {
        others.iter().chain([name]).for_each(|name| drop(formula(name)));
    }
}
