//! What sampling costs on this machine: per cent of one core, at one interval after the other.
//!
//! In:  seconds to sample at each interval, and whatever GPU source the `PATH` or the library gives.  Out: a table on standard output.
//! Not here: what is sampled.
//!
//! `cargo run --release --no-default-features --features collect,examples --example sampler_cost -- 60`

#[cfg(all(feature = "collect", target_os = "linux"))]
fn main() -> Result<(), sparkbench::error::Error> {
    cost::run()
}

#[cfg(not(all(feature = "collect", target_os = "linux")))]
fn main() {
    eprintln!("sampling is for Linux, with the feature 'collect'");
}

#[cfg(all(feature = "collect", target_os = "linux"))]
mod cost {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use sparkbench::error::Error;
    use sparkbench::host::Host;
    use sparkbench::host::gpu::open;
    use sparkbench::host::machine::Machine;
    use sparkbench::run::telemetry::{INTERVAL, SHORT_INTERVAL, Sampler, TreeSource};

    /// Processor time of this whole process so far, every thread counted, seconds; ticks of `/proc/self/stat` are hundredths.
    fn own_cpu(host: &dyn Host) -> Option<f64> {
        let text = host.read(std::path::Path::new("/proc/self/stat")).ok()?;
        let mut fields = text.rsplit_once(") ")?.1.split(' ').skip(11);
        let ticks: (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some((ticks.0 + ticks.1) / 100.0)
    }

    pub fn run() -> Result<(), Error> {
        let seconds: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(60);
        let host: Arc<dyn Host> = Arc::new(Machine::new()?);
        let mut opened = open(&host, "auto", 0, INTERVAL);
        let gpu = opened.share();
        if gpu.is_none() {
            eprintln!("no GPU source: {}", opened.why());
        }
        let folder = std::env::temp_dir().join(format!("sparkbench-cost-{}", std::process::id()));
        let failed = |cause| Error::archive(format!("cannot use '{}'", folder.display())).because(cause);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        println!(
            "| interval | source | samples | late | skipped | longest sample | sampler's own figure | whole process |"
        );
        println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
        for interval in [INTERVAL, SHORT_INTERVAL] {
            let tree = Arc::new(Mutex::new(TreeSource { pids: vec![std::process::id()], ..TreeSource::default() }));
            let file = folder.join(format!("telemetry-{}.csv", interval.as_millis()));
            let before = own_cpu(host.as_ref());
            let sampler = Sampler::start(
                Arc::clone(&host),
                gpu.clone(),
                interval,
                sparkbench::archive::Appender::create(&file)?,
                tree,
            )?;
            host.pause(Duration::from_secs(seconds));
            let wire = sampler.stop().wire;
            let whole =
                before.zip(own_cpu(host.as_ref())).map(|(before, after)| (after - before) / seconds as f64 * 100.0);
            println!(
                "| {} s | {} | {} | {} | {} | {:.1} ms | {:.2} % | {} |",
                interval.as_secs_f64(),
                wire.gpu_source,
                wire.samples,
                wire.late,
                wire.skipped,
                wire.longest_ms,
                wire.cpu_pct,
                whole.map_or_else(|| "not told".to_owned(), |whole| format!("{whole:.2} %")),
            );
        }
        std::fs::remove_dir_all(&folder).map_err(failed)
    }
}
