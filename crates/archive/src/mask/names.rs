//! Names of secrets: of variables, of options, of keys in JSON and in logs.
//!
//! In:  a name.  Out: which kind of secret its value is, if any.
//! Not here: values.
//!
//! Two rules. For variables and options that someone set, the doubt goes to the secret. For names met in free text, where `eos_token`,
//! `cache_key` and `first_token_s` are daily bread, the name must be plain about it.

/// Parts of a name that make its value a secret, and what it is called then.
const PARTS: &[(&str, &str)] = &[
    ("token", "token"),
    ("key", "key"),
    ("apikey", "key"),
    ("secret", "secret"),
    ("secrets", "secret"),
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("passwort", "password"),
    ("pass", "password"),
    ("pwd", "password"),
    ("pw", "password"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("creds", "credential"),
    ("auth", "credential"),
    ("authorization", "credential"),
    ("cookie", "cookie"),
    ("cookies", "cookie"),
    ("pat", "token"),
];

/// Endings of names written without separators.
const ENDINGS: &[(&str, &str)] = &[
    ("token", "token"),
    ("apikey", "key"),
    ("accesskey", "key"),
    ("secretkey", "key"),
    ("privatekey", "key"),
    ("secret", "secret"),
    ("password", "password"),
    ("passwd", "password"),
];

/// Variables with such a name whose value is no secret.
const HARMLESS: &[&str] =
    &["pwd", "oldpwd", "ssh_auth_sock", "gpg_key", "token_type", "auth_type", "key_type", "auth_method"];

/// Words before `token` or `key` that make it a word of language models or of data.
const OF_MODELS: &[&str] = &[
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "first",
    "next",
    "last",
    "per",
    "output",
    "input",
    "stop",
    "special",
    "image",
    "audio",
    "video",
    "prompt",
    "end",
    "start",
    "think",
    "thinking",
    "draft",
    "decode",
    "prefill",
    "cache",
    "sort",
    "primary",
    "foreign",
    "public",
    "partition",
    "group",
    "dict",
    "map",
    "hot",
    "index",
    "hash",
    "routing",
    "block",
    "prefix",
    "graph",
    "request",
];

/// Last words of a name that make a token or key before them something else: a hash or a number of it.
const OF_HASHES: &[&str] = &["hash", "sha", "sha1", "sha256", "sha512", "md5", "digest", "id", "ids"];

/// Endings that are plain even in free text.
const PLAIN: &[(&str, &str)] = &[
    ("apikey", "key"),
    ("apikeys", "key"),
    ("accesskey", "key"),
    ("accesskeyid", "key"),
    ("secretkey", "key"),
    ("privatekey", "key"),
    ("signingkey", "key"),
    ("encryptionkey", "key"),
    ("secret", "secret"),
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("authtoken", "token"),
    ("accesstoken", "token"),
    ("refreshtoken", "token"),
    ("sessiontoken", "token"),
    ("securitytoken", "token"),
    ("bearertoken", "token"),
    ("identitytoken", "token"),
    ("registrytoken", "token"),
    ("secrettoken", "token"),
    ("hftoken", "token"),
    ("hubtoken", "token"),
    ("usetoken", "token"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("authorization", "credential"),
    ("cookie", "cookie"),
];

/// What the value of a variable or option is, judged by its name. Nothing for a harmless one.
pub(super) fn of_variable(name: &str) -> Option<&'static str> {
    let lower = name.trim_matches('-').replace(['-', '.'], "_").to_ascii_lowercase();
    if HARMLESS.contains(&lower.as_str()) {
        return None;
    }
    let parts = parts(name);
    if let Some((before, _)) = split_of_models(&parts)
        && OF_MODELS.contains(&before)
    {
        return None;
    }
    if is_of_hashes(&parts) {
        return None;
    }
    let by_part = parts.iter().rev().find_map(|part| PARTS.iter().find(|(word, _)| part == word));
    let by_ending = || ENDINGS.iter().find(|(ending, _)| parts.iter().any(|part| part.ends_with(ending)));
    by_part.or_else(by_ending).map(|(_, kind)| *kind)
}

/// What the value behind a name in free text is. Nothing unless the name is plain about it.
pub(super) fn in_text(name: &str) -> Option<&'static str> {
    if !may_speak(name.as_bytes()) {
        return None;
    }
    let parts = parts(name);
    let joined = parts.concat();
    // `pause_token` does not end on `use_token`.
    let begins = |ending: &str| {
        let mut length = 0;
        parts.iter().rev().any(|part| {
            length += part.len();
            length == ending.len()
        })
    };
    let ends = |ending: &str| joined.ends_with(ending) && (ending != "usetoken" || begins(ending));
    if let Some((_, kind)) = PLAIN.iter().find(|(ending, _)| ends(ending)) {
        return Some(kind);
    }
    // As variables of the environment are written: HF_TOKEN, NGC_CLI_KEY.
    let shouted = parts.len() > 1 && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    shouted.then(|| of_variable(name)).flatten()
}

/// What the value behind a name in free text may be: as [`of_variable`]. Only a value that looks drawn is a secret then.
pub(super) fn perhaps_in_text(name: &str) -> Option<&'static str> {
    // A pass is a step of a program too.
    let step = matches!(name, "pass" | "Pass");
    (!step && may_speak(name.as_bytes())).then(|| of_variable(name)).flatten()
}

/// What the values of a list or an object in free text are, by a name for several of them: `passwords`, `access_tokens`.
pub(super) fn of_several(name: &str) -> Option<&'static str> {
    in_text(name.strip_suffix(['s', 'S'])?)
}

/// What the values of a list may be, by a name for several of them: `tokens`, as [`perhaps_in_text`]. Keys are names of columns and hashes.
pub(super) fn perhaps_of_several(name: &str) -> Option<&'static str> {
    perhaps_in_text(name.strip_suffix(['s', 'S'])?).filter(|kind| *kind != "key")
}

/// What the value behind an option is whose value is then looked for wherever it is: as [`in_text`], and `--token` itself. A name
/// that is less plain (`--sort-key`) may have a word of the field behind it, which must not vanish from every file.
pub(super) fn in_command(name: &str) -> Option<&'static str> {
    let bare = name.trim_start_matches('-');
    in_text(bare).or_else(|| bare.eq_ignore_ascii_case("token").then_some("token"))
}

/// Whether a name has any of the beginnings below. A quick no for nearly every word of a log.
fn may_speak(name: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8; 2]] = &[b"ke", b"to", b"se", b"pa", b"pw", b"cr", b"au", b"co"];
    let pair = |window: &[u8]| BEGINNINGS.iter().any(|two| window.eq_ignore_ascii_case(*two));
    name.len() > 2 && name.windows(2).any(pair)
}

/// Whether a word before `token` or `key` makes it a word of language models or of data.
pub(super) fn is_of_models(word: &[u8]) -> bool {
    OF_MODELS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// `eos` and `token` of `eos_token`, when it ends so.
fn split_of_models(parts: &[String]) -> Option<(&str, &str)> {
    match parts {
        [.., before, last] if matches!(last.as_str(), "token" | "key") => Some((before, last)),
        _ => None,
    }
}

/// Whether a name ends as those of a hash or a number: `token_pool_sha256`, `key_hash`, `token_ids`. The id of an access key counts as a
/// key, and the hash of a password as a secret.
fn is_of_hashes(parts: &[String]) -> bool {
    let Some((last, before)) = parts.split_last() else { return false };
    let of_access = last == "id" && before.concat().ends_with("accesskey");
    let kept = |part: &String| PARTS.iter().any(|(word, kind)| part == word && !matches!(*kind, "token" | "key"));
    OF_HASHES.contains(&last.as_str()) && !of_access && !before.iter().any(kept)
}

/// Whether a name is that of a hash or a number: see [`is_of_hashes`].
pub(super) fn is_of_hash(name: &str) -> bool {
    is_of_hashes(&parts(name)) || OF_HASHES.contains(&name.to_ascii_lowercase().as_str())
}

/// Words of a name, in lower case: separated by anything but letters and digits, and where small letters turn to capitals.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (small && c.is_ascii_uppercase()) {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_ascii_alphanumeric() {
            part.push(c.to_ascii_lowercase());
        }
        small = c.is_ascii_lowercase();
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a value under a secret's name says nothing: empty, a word for nothing, a switch, a reference, masked already.
pub(super) fn is_void(value: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "", "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "unset", "empty", "auto", "default",
        "required", "optional", "disabled", "enabled", "missing",
    ];
    let given = String::from_utf8_lossy(value);
    let text = given.trim().to_ascii_lowercase();
    WORDS.contains(&text.as_str())
        || text.starts_with("<masked:")
        || is_reference(given.trim())
        || text.bytes().all(|b| matches!(b, b'*' | b'.' | b'x' | b'-'))
}

/// Whether a value, whole, stands for one elsewhere: `$NAME`, `${name}`, `$(command)`, `{{ name }}`, `%NAME%`, `%(name)s`, `<name>`. What
/// only begins so is a value of its own.
fn is_reference(value: &str) -> bool {
    let within = |open: &str, close: &str| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).filter(|inner| !inner.is_empty())
    };
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // Small letters are a variable where they have the name of one.
    let is_variable = |name: &str| {
        is_name(name)
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && (!name.bytes().any(|b| b.is_ascii_lowercase()) || of_variable(name).is_some())
    };
    let is_field = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    value.strip_prefix('$').is_some_and(is_variable)
        || within("{", "}").is_some_and(is_field)
        || within("%", "%").is_some_and(is_name)
        || within("<", ">").is_some_and(|inner| !inner.contains(['<', '>']))
        || [("${", "}"), ("$(", ")"), ("{{", "}}"), ("%(", ")s")]
            .iter()
            .any(|(open, close)| within(open, close).is_some())
}

/// Whether a value is a count rather than a secret: `MAX_TOKEN=4096`. Passwords may be numbers, so this is not asked of them.
pub(super) fn is_count(kind: &str, value: &[u8]) -> bool {
    const DIGITS: usize = 10;
    kind != "password"
        && value.len() < DIGITS
        && !value.is_empty()
        && value.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_with_a_secret_name_are_told_from_words_of_the_field() {
        for (name, kind) in [
            ("HF_TOKEN", Some("token")),
            ("HUGGING_FACE_HUB_TOKEN", Some("token")),
            ("HFTOKEN", Some("token")),
            ("NGC_API_KEY", Some("key")),
            ("OPENAI_APIKEY", Some("key")),
            ("openaiApiKey", Some("key")),
            ("WANDB_API_KEY", Some("key")),
            ("AWS_SECRET_ACCESS_KEY", Some("key")),
            ("AWS_SESSION_TOKEN", Some("token")),
            ("KEY", Some("key")),
            ("DB_PASSWORD", Some("password")),
            ("PGPASSWORD", Some("password")),
            ("MYSQL_PWD", Some("password")),
            ("REGISTRY_AUTH", Some("credential")),
            ("GOOGLE_APPLICATION_CREDENTIALS", Some("credential")),
            ("SESSION_COOKIE", Some("cookie")),
            ("GITHUB_PAT", Some("token")),
            ("--api-key", Some("key")),
            ("AWS_ACCESS_KEY_ID", Some("key")),
            ("PASSWORD_HASH", Some("password")),
            ("token_pool_sha256", None),
            ("KEY_HASH", None),
            ("prefixCacheKeyHash", None),
            ("token_ids_md5", None),
            ("config_key_sha", None),
            ("graph_key", None),
            ("request_key", None),
            ("TOKENIZERS_PARALLELISM", None),
            ("MAX_TOKENS", None),
            ("VLLM_MAX_NUM_BATCHED_TOKENS", None),
            ("KEYBOARD", None),
            ("XKB_KEYBOARD_LAYOUT", None),
            ("GIT_AUTHOR_NAME", None),
            ("XAUTHORITY", None),
            ("SSH_AUTH_SOCK", None),
            ("PWD", None),
            ("EOS_TOKEN", None),
            ("PATH", None),
            ("MONKEY", None),
            ("CUDA_CACHE_PATH", None),
            ("--eos-token", None),
        ] {
            assert_eq!(of_variable(name), kind, "{name}");
        }
    }

    #[test]
    fn the_quick_no_lets_every_word_of_the_lists_pass() {
        for (word, _) in PARTS.iter().chain(ENDINGS).chain(PLAIN) {
            assert!(word.len() < 3 || may_speak(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn only_a_whole_reference_says_nothing() {
        for value in ["$KEY", "$api_key", "${KEY}", "${{ secrets.KEY }}", "{{ key }}", "%KEY%", "<your-key>", "{key}"] {
            assert!(is_void(value.as_bytes()), "{value}");
        }
        for value in ["$ecret", "$ecret-Pa55", "${abcd", "{abcd", "%abcd", "<abcd", "{abcd1"] {
            assert!(!is_void(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn in_free_text_only_plain_names_count() {
        for (name, kind) in [
            ("api_key", Some("key")),
            ("apiKey", Some("key")),
            ("X-Api-Key", Some("key")),
            ("HF_TOKEN", Some("token")),
            ("hf_token", Some("token")),
            ("password", Some("password")),
            ("client_secret", Some("secret")),
            ("Authorization", Some("credential")),
            ("token", None),
            ("key", None),
            ("eos_token", None),
            ("EOS_TOKEN", None),
            ("pause_token", None),
            ("use_token", Some("token")),
            ("energy_j_per_token", None),
            ("first_token_s", None),
            ("cache_key", None),
            ("CACHE_KEY", None),
            ("auth", None),
            ("KEY", None),
        ] {
            assert_eq!(in_text(name), kind, "{name}");
        }
    }
}
