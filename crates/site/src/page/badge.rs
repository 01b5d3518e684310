//! Pictures of a campaign for other sites: its badge with the code to embed it, and the card for previews of links.
//!
//! In:  a campaign.  Out: [`Embed`] for the page, the files `badge.svg` and `card.png`.
//! Not here: the text of a badge (see `verdict::badge`), the drawing (see `chart::badge`, `chart::card`).

use super::Page;
use super::front;
use super::index::Site;
use crate::chart::badge::{Tone, badge};
use crate::chart::card::Card;
use sparkbench_text::error::Error;
use sparkbench_verdict::badge::{self, Badge};
use sparkbench_verdict::report::{CampaignReport, VerdictKind};

/// The badge on its campaign's page.
pub(super) struct Embed {
    /// The picture itself, as it is in `badge.svg`.
    pub picture: String,
    /// Markdown that shows it. The address of the site is left to be filled in.
    pub markdown: String,
}

/// The picture of a badge.
pub fn svg(said: &Badge) -> String {
    badge(&said.subject, &said.message, tone(said.kind))
}

const fn tone(kind: VerdictKind) -> Tone {
    match kind {
        VerdictKind::Slower => Tone::Bad,
        VerdictKind::Faster | VerdictKind::Equivalent => Tone::Good,
        VerdictKind::Inconclusive | VerdictKind::NotComparable => Tone::Open,
        VerdictKind::More | VerdictKind::Less => Tone::Plain,
    }
}

/// Text of a campaign's badge, where the campaign compares anything.
fn said(site: &Site<'_>, campaign: &CampaignReport) -> Option<Badge> {
    badge::of(site.analysis.comparisons.iter().filter(|c| c.campaign == campaign.name))
}

/// The badge for the page of its campaign. None in the report as one file, beside which no picture lies.
pub(super) fn embed(site: &Site<'_>, campaign: &CampaignReport) -> Option<Embed> {
    let home = format!("c/{}/", campaign.name);
    let said = said(site, campaign).filter(|_| site.has(&format!("{home}index.html")))?;
    let text = format!("{}: {}", said.subject, said.message);
    let alt: String = text.chars().filter(|c| !matches!(c, '[' | ']' | '\\' | '`')).collect();
    let markdown = format!("[![{alt}](https://SITE/{home}badge.svg)](https://SITE/{home})");
    Some(Embed { picture: svg(&said), markdown })
}

/// The picture beside the page of its campaign.
pub(super) fn file(site: &Site<'_>, campaign: &CampaignReport) -> Option<Page> {
    said(site, campaign).map(|said| Page::new(format!("c/{}/badge.svg", campaign.name), svg(&said)))
}

/// Absolute address of the card of a campaign. Absent where the site has no address, for a preview follows no other.
pub(super) fn card_address(site: &Site<'_>, campaign: &CampaignReport) -> Option<String> {
    site.address(&card_path(campaign))
}

fn card_path(campaign: &CampaignReport) -> String {
    format!("c/{}/card.png", campaign.name)
}

/// The card beside the page of its campaign, where the site has an address.
pub(super) fn card(site: &Site<'_>, campaign: &CampaignReport) -> Result<Option<Page>, Error> {
    if card_address(site, campaign).is_none() {
        return Ok(None);
    }
    let said = said(site, campaign);
    let verdict = said.as_ref().map(|said| format!("{}: {}", said.subject, said.message));
    let png = Card {
        about: &front::eyebrow(site, campaign),
        question: campaign.question.as_deref().unwrap_or(&campaign.title),
        answer: campaign.answer.as_deref().unwrap_or_default(),
        verdict: verdict.as_deref().zip(said.as_ref().map(|said| tone(said.kind))),
    }
    .png()
    .map_err(|e| Error::archive(format!("the card of campaign '{}' cannot be drawn", campaign.name)).because(e))?;
    Ok(Some(Page::new(card_path(campaign), png)))
}
