//! `sparkbench chunks`: what a file of chunks holds, in words or as a table.
//!
//! In:  `chunks.sbc`.  Out: a few lines, or CSV, on standard output.
//! Not here: the format (see `load::store::chunks` and `docs/archive.md`).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

use super::stdout::print;
use super::talk::Talk;
use sparkbench_archive::given::refuse_endless;
use sparkbench_archive::shown;
use sparkbench_load::store::chunks::{Block, Ending, KINDS, Reader};
use sparkbench_text::error::Error;

/// Read the times of every chunk of a load
///
/// A load keeps the arrival time of each event of each stream in a column file beside its requests. Without --csv, a summary of the file
/// is printed. A file that a crash cut off is read up to the cut.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench chunks runs/r1/chunks.sbc\n  \
                        sparkbench chunks runs/r1/chunks.sbc --csv > chunks.csv")]
pub(crate) struct Chunks {
    /// Column file of a load, such as runs/r1/chunks.sbc
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print every chunk as CSV: request, chunk, at_s, lag_us, bytes, text_bytes, tokens, kind
    #[arg(long)]
    csv: bool,
}

/// Reads it once from front to back.
///
/// # Errors
/// When it cannot be read or is none of ours. A tear is said and is no error.
pub(crate) fn run(args: &Chunks, talk: &Talk) -> Result<(), Error> {
    refuse_endless(&args.file)?;
    let name = shown(&args.file);
    let file = File::open(&args.file).map_err(|cause| {
        Error::archive(format!("cannot open '{name}'"))
            .hint("give the file chunks.sbc of a run, in an archive of a load")
            .because(cause)
    })?;
    let mut reader = Reader::new(BufReader::with_capacity(1 << 18, file)).map_err(|mut error| {
        error.what = format!("cannot read '{name}': {}", error.what);
        error
    })?;
    if args.csv {
        match table(&mut reader, &mut BufWriter::new(io::stdout().lock()))? {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(cause) => return Err(Error::archive("cannot write to standard output").because(cause)),
            Ok(()) => {}
        }
    } else {
        print(&account(&mut reader)?)?;
    }
    if let Ending::Torn { at, why } = reader.ending() {
        talk.warn(&format!("'{name}' is cut off after byte {at}: {why}. The chunks before it were read"));
    }
    Ok(())
}

/// Every chunk as a line. The inner result is that of writing.
fn table<R: io::BufRead>(reader: &mut Reader<R>, out: &mut impl Write) -> Result<io::Result<()>, Error> {
    let origin = reader.header().origin_ns;
    let mut write = || -> io::Result<Result<(), Error>> {
        writeln!(out, "request,chunk,at_s,lag_us,bytes,text_bytes,tokens,kind")?;
        loop {
            let block = match reader.next_block() {
                Ok(Some(block)) => block,
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            };
            rows(&block, origin, out)?;
        }
        out.flush()?;
        Ok(Ok(()))
    };
    match write() {
        Ok(Ok(())) => Ok(Ok(())),
        Ok(Err(error)) => Err(error),
        Err(cause) => Ok(Err(cause)),
    }
}

fn rows(block: &Block, origin: u64, out: &mut impl Write) -> io::Result<()> {
    for (number, chunk) in (block.first..).zip(&block.chunks) {
        let after = chunk.at.wrapping_sub(origin).cast_signed();
        let (sign, after) = if after < 0 { ("-", after.unsigned_abs()) } else { ("", after.unsigned_abs()) };
        let (seconds, nanoseconds) = (after / 1_000_000_000, after % 1_000_000_000);
        // Not known is an empty cell.
        let tokens = if chunk.tokens == 0 { String::new() } else { chunk.tokens.to_string() };
        writeln!(
            out,
            "{},{number},{sign}{seconds}.{nanoseconds:09},{}.{},{},{},{tokens},{}",
            block.request,
            chunk.lag_ns / 1000,
            chunk.lag_ns % 1000 / 100,
            chunk.bytes,
            chunk.text,
            KINDS[chunk.kind as usize]
        )?;
    }
    Ok(())
}

/// What the file holds.
fn account<R: io::BufRead>(reader: &mut Reader<R>) -> Result<String, Error> {
    let origin = reader.header().origin_ns;
    let mut requests = BTreeSet::new();
    let (mut blocks, mut chunks, mut kinds) = (0_u64, 0_u64, [0_u64; KINDS.len()]);
    let (mut first, mut last) = (u64::MAX, 0_u64);
    while let Some(block) = reader.next_block()? {
        blocks += 1;
        requests.insert(block.request);
        for chunk in &block.chunks {
            chunks += 1;
            kinds[chunk.kind as usize] += 1;
            (first, last) = (first.min(chunk.at), last.max(chunk.at));
        }
    }
    let second = |at: u64| at.wrapping_sub(origin).cast_signed() as f64 / 1e9;
    let mut text = format!("{chunks} chunks of {} requests in {blocks} blocks\n", requests.len());
    if chunks > 0 {
        text.push_str(&format!("from {:.9} s to {:.9} s after the origin\n", second(first), second(last)));
        let named: Vec<String> = KINDS
            .iter()
            .zip(kinds)
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        text.push_str(&format!("{}\n", named.join(", ")));
    }
    Ok(text)
}
