//! Words that are one token each.
//!
//! In:  nothing.  Out: [`WORDS`].
//! Not here: choosing words for a text (see `plan::text`, `chat::texts`), checking them against the served model (see `tokens`).
//!
//! Each of these is a single token with a space before it and at the head of a text, in seventeen published vocabularies. They are those of
//! GPT-2/3, GPT-3.5/4, GPT-4o (gpt-oss has the same words), Claude, Llama 3 and 4, Qwen and DeepSeek. Mistral's SentencePiece models v1 to
//! v7 and Tekken belong to them too. So a text of n words is a text of n tokens for most served models. Counting finds the few others. The
//! words have only the letters a to z, so nothing has to be escaped in JSON.

/// 512 of them: a word costs nine random bits.
pub(super) static WORDS: [&str; 512] = [
    "this", "that", "with", "return", "from", "public", "have", "self", "will", "your", "else", "more", "they", "data",
    "name", "private", "time", "which", "value", "about", "string", "over", "type", "part", "work", "when", "other",
    "were", "file", "year", "some", "there", "like", "also", "than", "static", "just", "result", "into", "what",
    "list", "case", "first", "import", "only", "print", "back", "need", "start", "under", "then", "people", "should",
    "make", "after", "right", "long", "read", "want", "number", "require", "size", "where", "while", "look", "could",
    "know", "hand", "most", "break", "every", "point", "error", "text", "show", "find", "current", "used", "play",
    "help", "pass", "down", "even", "item", "through", "last", "event", "again", "high", "line", "does", "before",
    "because", "state", "here", "final", "very", "model", "call", "well", "object", "default", "view", "many", "being",
    "good", "using", "request", "param", "echo", "person", "style", "method", "found", "post", "such", "think",
    "count", "check", "open", "next", "follow", "game", "path", "each", "support", "system", "best", "same", "create",
    "made", "mark", "group", "world", "process", "main", "color", "report", "take", "free", "action", "index", "real",
    "build", "message", "input", "between", "table", "head", "must", "order", "product", "double", "place", "week",
    "program", "code", "without", "field", "team", "second", "going", "range", "home", "left", "direct", "allow",
    "page", "around", "image", "target", "both", "level", "local", "content", "quest", "float", "month", "super",
    "title", "context", "life", "change", "book", "version", "three", "base", "power", "width", "label", "project",
    "element", "success", "date", "match", "node", "care", "effect", "service", "since", "full", "turn", "body",
    "stand", "block", "keep", "throw", "control", "come", "custom", "source", "output", "email", "never", "hard",
    "called", "options", "height", "small", "access", "address", "uint", "status", "update", "link", "always",
    "parent", "less", "account", "search", "rest", "site", "values", "video", "cell", "player", "cost", "total",
    "load", "clear", "short", "company", "done", "health", "days", "initial", "online", "organ", "reason", "design",
    "cent", "school", "include", "stop", "client", "love", "able", "copy", "family", "option", "exist", "water",
    "step", "display", "times", "four", "present", "room", "once", "results", "talk", "mass", "mean", "until",
    "market", "area", "length", "kind", "light", "side", "example", "camp", "miss", "based", "plan", "away", "button",
    "render", "country", "author", "express", "begin", "thing", "single", "season", "sent", "command", "working",
    "window", "column", "record", "making", "close", "percent", "write", "move", "special", "city", "select", "font",
    "course", "late", "amount", "hold", "price", "story", "sort", "task", "review", "switch", "word", "cover", "large",
    "created", "role", "press", "though", "points", "ever", "files", "info", "space", "store", "format", "details",
    "face", "save", "items", "social", "major", "food", "members", "comb", "send", "global", "contact", "except",
    "news", "device", "media", "added", "card", "root", "handle", "claim", "enter", "night", "pick", "watch", "human",
    "house", "track", "pack", "section", "wait", "apply", "session", "subject", "history", "future", "mode", "known",
    "seen", "border", "live", "network", "limit", "fire", "learn", "mind", "quick", "comment", "series", "frame",
    "draw", "comes", "filter", "remove", "front", "virtual", "models", "center", "buffer", "period", "screen",
    "common", "accept", "random", "click", "answer", "walk", "five", "friend", "clean", "words", "header", "issue",
    "land", "stream", "quality", "works", "half", "simple", "empty", "running", "share", "entry", "changes", "offset",
    "events", "likely", "writing", "rate", "correct", "fall", "member", "foot", "board", "push", "types", "edit",
    "defined", "thread", "film", "phone", "active", "article", "connect", "feature", "install", "general", "icon",
    "party", "vector", "normal", "speed", "forward", "failed", "term", "weight", "module", "loss", "engine", "issues",
    "lower", "former", "margin", "heart", "graph", "round", "energy", "raise", "policy", "third", "exit", "release",
    "ground", "unique", "dating", "ball", "fast", "memory", "extra", "unit", "coming", "blog", "menu", "names",
    "actual", "fields", "cases", "respect", "sound", "alert", "lines", "join", "fill", "flag", "note", "groups",
    "gets", "focus", "leave", "align", "notice", "lock", "padding", "states", "cross", "written", "images", "force",
    "pattern", "entity", "tool", "feed", "allowed", "train", "related", "scale", "score", "student",
];
