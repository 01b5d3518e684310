//! From a suite to the list of its runs, in an order that its seed alone decides.
//!
//! In:  a [`Suite`], and the cells that its workloads allow.  Out: [`Plan`].
//! Not here: clocks, the part of a plan that `--only` selects (see `only`).
//!
//! **Interleaved** (the default). Round k holds the k-th repeat of every cell. Within a round the (model, workload) groups come in random
//! order. Each group is one *block*: one run of every environment, one after the other. The orders of the environments inside the blocks of
//! one group are the rows of Williams designs with random labels. Of k environments each takes each place once in k rows, so over all blocks it
//! takes each place equally often, or once more than another where the numbers do not allow it. Over whole designs (k rows, or 2k where k is
//! odd) each environment follows each other one equally often. So no environment is favoured by the first place (the coolest GPU). None is
//! favoured by the heat and page cache that its predecessor leaves. A free shuffle gives that only on average over many campaigns.
//!
//! All rows of a group are shuffled together. Two environments that take turns (AB BA AB BA) or are balanced in each pair of blocks would follow
//! a rhythm that the machine may have too. Where a campaign looks at its figures, the rows up to each look are balanced, and shuffled between
//! two looks.
//!
//! **Blocked**. All runs of one environment, then the next, in the order of the file. Within an environment by rounds as above. Such runs
//! belong to no block.
//!
//! The random numbers are fixed for ever, because a change would give an old suite a new order. A test checks them.
//!
//! Sources: Williams, *Aust. J. Sci. Res.* A 2 (1949) 149-168, designs balanced for residual effects. Fisher and Yates, *Statistical Tables*
//! (1938), the shuffle, in Durstenfeld's form, *Commun. ACM* 7 (1964) 420.

use super::cells::{Chooser, NOT_ALLOWED};
use super::{Cell, Order, Plan, Suite};
use sparkbench_archive::manifest::PlannedRun;
use sparkbench_stats::random::{Stream, job_base};

/// Longest id of a run: names of files and containers allow more, and other words are added to it.
pub(crate) const ID_MAX: usize = 100;

/// Model and workload, and the environments under which they are run, in the order of the file.
struct Group {
    model: String,
    workload: String,
    environments: Vec<String>,
}

/// Every run of a suite, in order. `allowed` says whether a workload is meant for the environment and the model of a cell (see
/// [`super::cells::Restrictions`]). Same suite, same plan, on every machine.
pub fn expand(suite: &Suite, allowed: &dyn Fn(&Cell) -> bool) -> Plan {
    let chooser = Chooser::of(suite);
    let mut plan = Plan::default();
    let mut groups: Vec<Group> = Vec::new();
    for cell in suite.cells() {
        let why_not = chooser.left_out(&cell).or((!allowed(&cell)).then_some(NOT_ALLOWED));
        if let Some(reason) = why_not {
            plan.left_out.push((cell, reason.to_owned()));
            continue;
        }
        match groups.last_mut() {
            Some(group) if group.model == cell.model && group.workload == cell.workload => {
                group.environments.push(cell.environment);
            }
            _ => {
                groups.push(Group { model: cell.model, workload: cell.workload, environments: vec![cell.environment] })
            }
        }
    }
    match suite.order {
        Order::Interleaved => interleave(suite, &groups, &mut plan.runs),
        Order::Blocked => block(suite, &groups, &mut plan.runs),
    }
    number(&mut plan.runs);
    plan
}

fn interleave(suite: &Suite, groups: &[Group], runs: &mut Vec<PlannedRun>) {
    let rows: Vec<Vec<Vec<usize>>> = groups
        .iter()
        .map(|group| {
            let key = format!("plan|environments|{}|{}", group.model, group.workload);
            balanced_rows(group.environments.len(), &looks(suite), job_base(suite.seed, &key))
        })
        .collect();
    let mut block = 0;
    for repeat in 1..=suite.repeats {
        for at in shuffled_groups(suite, groups.len(), repeat) {
            let (Some(group), Some(row)) =
                (groups.get(at), rows.get(at).and_then(|rows| rows.get(repeat as usize - 1)))
            else {
                continue;
            };
            block += 1;
            for environment in row.iter().filter_map(|&e| group.environments.get(e)) {
                runs.push(run(group, environment, repeat, Some(block)));
            }
        }
    }
}

fn block(suite: &Suite, groups: &[Group], runs: &mut Vec<PlannedRun>) {
    for environment in suite.environments.iter().map(|part| &part.label) {
        for repeat in 1..=suite.repeats {
            for at in shuffled_groups(suite, groups.len(), repeat) {
                if let Some(group) = groups.get(at).filter(|group| group.environments.contains(environment)) {
                    runs.push(run(group, environment, repeat, None));
                }
            }
        }
    }
}

fn run(group: &Group, environment: &str, repeat: u32, block: Option<u32>) -> PlannedRun {
    PlannedRun {
        environment: environment.to_owned(),
        model: group.model.clone(),
        workload: group.workload.clone(),
        repeat: Some(repeat),
        block,
        ..PlannedRun::default()
    }
}

/// Order of the groups in one round.
fn shuffled_groups(suite: &Suite, count: usize, repeat: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    shuffle(&mut order, &mut Stream::new(job_base(suite.seed, "plan|groups"), u64::from(repeat)));
    order
}

/// Every order is equally likely, as far as [`Stream::index`] is uniform.
fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        items.swap(last, stream.index(last + 1));
    }
}

/// Numbers of blocks up to which positions are balanced: those of the looks of the campaign, and all.
fn looks(suite: &Suite) -> Vec<usize> {
    let looks = suite.sequential.iter().flat_map(|design| &design.looks);
    looks
        .copied()
        .filter(|blocks| *blocks < suite.repeats)
        .chain([suite.repeats])
        .map(|blocks| blocks as usize)
        .collect()
}

/// Orders of `k` environments, as many as the last of `looks` says. Up to each of these numbers every environment takes each place equally often,
/// as far as that is possible, and the orders between two of them are shuffled.
fn balanced_rows(k: usize, looks: &[usize], base: u64) -> Vec<Vec<usize>> {
    let mut stream = Stream::new(base, 0);
    // Of a square that was begun, the rows that are left belong to the next blocks.
    let (mut rows, mut left): (Vec<Vec<usize>>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for until in looks {
        let from = rows.len();
        while rows.len() < *until {
            if left.is_empty() {
                left = design(k, &mut stream);
            }
            rows.extend(left.pop());
        }
        if let Some(since) = rows.get_mut(from..) {
            shuffle(since, &mut stream);
        }
    }
    rows
}

/// The rows of a Williams design with random labels. Those of one square stand together, in random order.
fn design(k: usize, stream: &mut Stream) -> Vec<Vec<usize>> {
    let mut labels: Vec<usize> = (0..k).collect();
    shuffle(&mut labels, stream);
    let mut rows = Vec::new();
    for mut square in williams(k, stream) {
        shuffle(&mut square, stream);
        rows.append(&mut square);
    }
    let named =
        |row: &Vec<usize>| -> Vec<usize> { row.iter().filter_map(|place| labels.get(*place).copied()).collect() };
    rows.iter().map(named).collect()
}

/// The square of a Williams design for `k` labels. Where `k` is odd, also its mirror, which of the two first being drawn.
fn williams(k: usize, stream: &mut Stream) -> Vec<Vec<Vec<usize>>> {
    if k < 2 {
        return vec![vec![(0..k).collect()]];
    }
    // 0, 1, k-1, 2, k-2, ...: the differences of neighbours are all different. So the shifts by 1 to k - 1 make every pair of neighbours
    // once.
    let first = (0..k).map(|place| if place % 2 == 1 { place.div_ceil(2) } else { (k - place / 2) % k });
    let first: Vec<usize> = first.collect();
    let square: Vec<Vec<usize>> = (0..k).map(|shift| first.iter().map(|label| (label + shift) % k).collect()).collect();
    if k.is_multiple_of(2) {
        return vec![square];
    }
    let mirror = square.iter().map(|row| row.iter().rev().copied().collect()).collect();
    if stream.index(2) == 0 { vec![square, mirror] } else { vec![mirror, square] }
}

impl Plan {
    /// Puts the workloads of each round into an order of somebody's own, in place of the drawn one. For a plan with one environment, where no
    /// order favours any.
    pub fn put_in_order(&mut self, workloads: &[String]) {
        let place = |run: &PlannedRun| workloads.iter().position(|label| *label == run.workload);
        self.runs.sort_by_key(|run| (run.repeat, place(run)));
        for (block, run) in (1..).zip(&mut self.runs) {
            run.block = run.block.map(|_| block);
        }
        number(&mut self.runs);
    }
}

/// Gives each run its position and its id.
fn number(runs: &mut [PlannedRun]) {
    let digits = if runs.len() > 999 { runs.len().to_string().len() } else { 3 };
    for (position, run) in (1..).zip(runs) {
        run.position = Some(position);
        run.id = id(run, position, digits);
    }
}

/// `007-docker-qwen7b-throughput-r03`. The position makes it unique, so that long labels may be cut.
fn id(run: &PlannedRun, position: u32, digits: usize) -> String {
    let head = format!("{position:0digits$}-");
    let tail = format!("-r{:02}", run.repeat.unwrap_or(0));
    let labels = [&run.environment, &run.model, &run.workload].map(|label| sparkbench_text::slug::slug(label));
    let room = ID_MAX.saturating_sub(head.len() + tail.len() + labels.len() - 1);
    format!("{head}{}{tail}", fit(labels, room).join("-"))
}

/// Cuts the longest label first, until all fit.
fn fit(mut labels: [String; 3], room: usize) -> [String; 3] {
    while labels.iter().map(String::len).sum::<usize>() > room {
        let Some(longest) = labels.iter_mut().max_by_key(|label| label.len()) else { break };
        // Slugs are ASCII. What a cut leaves at the end must not be a sign.
        longest.pop();
        longest.truncate(longest.trim_end_matches(['-', '.', '_']).len());
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn in_a_williams_design_every_label_stands_in_every_place_and_follows_every_other_equally_often() {
        for k in 1..=9 {
            let squares = williams(k, &mut Stream::new(7, 7));
            assert_eq!(squares.len(), if k > 1 && k % 2 == 1 { 2 } else { 1 });
            for square in &squares {
                for place in 0..k {
                    let labels: BTreeSet<usize> = square.iter().map(|row| row[place]).collect();
                    assert_eq!(labels.len(), k, "k {k}, place {place}");
                }
            }
            let mut follows: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for pair in squares.iter().flatten().flat_map(|row| row.windows(2)) {
                *follows.entry((pair[0], pair[1])).or_default() += 1;
            }
            assert_eq!(follows.len(), k * (k - 1), "k {k}");
            assert!(follows.values().all(|n| *n == squares.len()), "k {k}: {follows:?}");
        }
    }

    #[test]
    fn positions_are_balanced_over_all_blocks_and_up_to_each_look() {
        for (k, looks) in
            [(2, vec![10]), (2, vec![7]), (3, vec![10]), (4, vec![10]), (2, vec![5, 8, 12, 30]), (3, vec![5, 8, 12])]
        {
            for base in 0..50 {
                let rows = balanced_rows(k, &looks, base);
                assert_eq!(rows.len(), *looks.last().unwrap());
                for until in &looks {
                    let mut times: BTreeMap<(usize, usize), usize> = BTreeMap::new();
                    for (place, arm) in rows[..*until].iter().flat_map(|row| row.iter().copied().enumerate()) {
                        *times.entry((place, arm)).or_default() += 1;
                    }
                    let (least, most) = (until / k, until.div_ceil(k));
                    assert_eq!(times.len(), k * k);
                    assert!(times.values().all(|n| (least..=most).contains(n)), "{k} {looks:?} {base}: {times:?}");
                }
            }
        }
    }

    #[test]
    fn two_arms_do_not_take_turns_by_pairs_of_blocks() {
        let first = |base| balanced_rows(2, &[10], base).iter().map(|row| row[0]).collect::<Vec<_>>();
        let orders: BTreeSet<Vec<usize>> = (0..400).map(first).collect();
        // Ten over five orders there are, and 32 of them are balanced in each pair.
        assert!(orders.len() > 150, "{}", orders.len());
        assert!(orders.iter().any(|order| order[..2] == [0, 0]) && orders.iter().any(|order| order[..2] == [1, 1]));
    }

    #[test]
    fn a_shuffle_reaches_every_order_about_equally_often() {
        let mut seen: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for draw in 0..6_000 {
            let mut items = vec![0, 1, 2];
            shuffle(&mut items, &mut Stream::new(job_base(42, "shuffle"), draw));
            *seen.entry(items).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        // Six standard deviations of a binomial count with n 6000 and p 1/6.
        assert!(seen.values().all(|n| n.abs_diff(1_000) < 174), "{seen:?}");
    }

    #[test]
    fn long_labels_are_cut_and_ids_stay_lawful() {
        let run = PlannedRun {
            environment: "e".repeat(60),
            model: "short".to_owned(),
            workload: format!("{}-{}", "w".repeat(30), "x".repeat(29)),
            repeat: Some(7),
            ..PlannedRun::default()
        };
        let id = id(&run, 12, 3);
        assert_eq!(id.len(), ID_MAX);
        assert!(id.starts_with("012-eeee") && id.ends_with("-r07") && id.contains("-short-www"), "{id}");
        assert_eq!(fit(["ab".into(), "a-.-b".into(), "c".into()], 6), ["ab", "a", "c"]);
    }
}
