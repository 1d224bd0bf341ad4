//! What a wrong machine file is answered with.

use weft_machine::Machine;

const GOOD: &str = r#"name = "tiny"
title = "A tiny machine"
year = 2000

[topology]
kind = "hypercube"
dimension = 3
source = "made up"

[switching]
technique = "store-and-forward"
source = "made up"

[[protocols]]
up_to = 100
send_overhead = 1e-6
receive_overhead = 1e-6
hop_time = 1e-6
byte_time = 1e-9
completion = "buffered"
source = "made up"

[[protocols]]
send_overhead = 2e-6
receive_overhead = 2e-6
hop_time = 1e-6
byte_time = 1e-9
completion = "injected"
source = "made up"

[packets]
bytes = 1024
minimum = 32
acknowledged = true
source = "made up"

[node]
memory_channels = 1
memory_bytes = 1000
memory_available = 900
source = "made up"

[self_message]
startup = 1e-6
byte_time = 1e-9
source = "made up"

[operations]
float64_add = 1e-9
source = "made up"

[facts]
clock_rate = { value = 1e9, unit = "Hz" }
source = "made up"
"#;

/// The first line of the answer to the good file with the first `from` replaced by `to`.
fn answer(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let fault = Machine::parse(&text, "tiny.toml").unwrap_err().to_string();
    fault.lines().next().unwrap().to_owned()
}

#[test]
fn the_good_file_is_read() {
    Machine::parse(GOOD, "tiny.toml").unwrap();
}

#[test]
fn each_fault_names_file_line_key_and_what_was_expected() {
    let cases = [
        ("name = \"tiny\"\n", "", "1: name: expected a text in quotes; the key is missing from the file"),
        (
            "\"tiny\"",
            "\"../tiny\"",
            "1: name: expected letters, digits, '-', '_' and '.', not ending in .toml, found \"../tiny\"",
        ),
        ("\"A tiny machine\"", "\" \"", "2: title: expected a text in quotes, found an empty one"),
        ("2000", "-5", "3: year: expected a whole number of at least 1, found -5"),
        (
            "title",
            "titel",
            "2: titel: expected one of the keys name, title, year, description, estimand, topology, switching, \
          protocols, packets, cache, node, self_message, host, files, host_files, shifts, connections, fghc, \
          primitives, parallel, routers, processors, operations, facts, alternative; did you mean title?",
        ),
        (
            "\"hypercube\"",
            "\"hypercub\"",
            "6: topology.kind: expected one of \"hypercube\", \"torus\", \"mesh\", \
          \"fat-tree\", \"dragonfly\", \"crossbar\", found \"hypercub\"; did you mean hypercube?",
        ),
        (
            "dimension = 3\n",
            "",
            "5: topology.dimension: expected a whole number of at least 0; the key is missing from [topology]",
        ),
        ("dimension = 3", "dimension = 40", "7: topology.dimension: expected 0 to 24 (at most 16777216 nodes)"),
        (
            "dimension = 3",
            "dimension = 3\nnodes = 16",
            "8: topology.nodes: expected 8, the nodes of this hypercube, found 16",
        ),
        (
            "dimension = 3",
            "dimension = 3\nextents = [2]",
            "8: topology.extents: expected one of the keys source, kind, \
          embedding, nodes, dimension",
        ),
        (
            "dimension = 3",
            "dimension = \"3\"",
            "7: topology.dimension: expected a whole number of at least 0, found the text \"3\"",
        ),
        (
            "dimension = 3",
            "dimension = 3\nembedding = \"grey\"",
            "8: topology.embedding: expected one of \"identity\", \
          \"gray\", found \"grey\"; did you mean gray?",
        ),
        (
            "dimension = 3\nsource = \"made up\"\n",
            "dimension = 3\n",
            "5: topology.source: expected where the table comes from, \
          as a text in quotes; the key is missing from [topology]",
        ),
        (
            "[switching]\ntechnique = \"store-and-forward\"\nsource = \"made up\"\n",
            "",
            "1: switching: expected a table \
          [switching]; the key is missing from the file",
        ),
        (
            "store-and-forward",
            "worm-hole",
            "11: switching.technique: expected one of \"store-and-forward\", \"circuit\", \
          \"wormhole\", \"cut-through\", \"flit\", found \"worm-hole\"; did you mean wormhole?",
        ),
        (
            "hop_time",
            "hop_tme",
            "18: protocols[0].hop_tme: expected one of the keys source, up_to, send_overhead, \
          receive_overhead, send_byte_time, receive_byte_time, hop_time, byte_time, completion; did you mean hop_time?",
        ),
        (
            "hop_time = 1e-6\n",
            "",
            "14: protocols[0].hop_time: expected a number of at least 0, in s; the key is missing \
          from [protocols[0]]",
        ),
        (
            "hop_time = 1e-6",
            "hop_time = -1e-6",
            "18: protocols[0].hop_time: expected a number of at least 0, in s, found -1e-6",
        ),
        (
            "hop_time = 1e-6",
            "hop_time = 500",
            "18: protocols[0].hop_time: expected seconds, 0 or from 1e-13 to 1, found 500; did you mean 500e-6?",
        ),
        (
            "byte_time = 1e-9",
            "byte_time = 1e9",
            "19: protocols[0].byte_time: expected seconds a byte, 0 or from 1e-20 to 0.001, found 1e9; did you mean 1e-9, \
          of a rate of 1e9 B/s?",
        ),
        (
            "hop_time = 1e-6",
            "hop_time = nan",
            "18: protocols[0].hop_time: expected a number of at least 0, in s, found nan",
        ),
        (
            "hop_time = 1e-6",
            "hop_time = \"fast\"",
            "18: protocols[0].hop_time: expected a number of at least 0, in s, found \
          the text \"fast\"",
        ),
        (
            "hop_time = 1e-6",
            "hop_time = { value = 1, unit = \"us\", source = \"x\" }",
            "18: protocols[0].hop_time: expected \
          the unit s, found \"us\"",
        ),
        (
            "hop_time = 1e-6",
            "hop_time = { source = \"x\" }",
            "18: protocols[0].hop_time.value: expected the value of the \
          figure; the key is missing from [protocols[0].hop_time]",
        ),
        (
            "up_to = 100",
            "up_to = 1.5",
            "15: protocols[0].up_to: expected a whole number of bytes of at least 0, found 1.5",
        ),
        (
            "up_to = 100\n",
            "",
            "14: protocols[0].up_to: expected a whole number of bytes; only the last protocol has no limit",
        ),
        (
            "send_overhead = 2e-6",
            "up_to = 5\nsend_overhead = 2e-6",
            "24: protocols[1].up_to: expected no limit for the last \
          protocol: it is used for all longer messages",
        ),
        (
            "[[protocols]]\nsend_overhead = 2e-6",
            "[[protocols]]\nup_to = 100\nsend_overhead = 1e-6\nreceive_overhead = 1e-6\n\
          hop_time = 1e-6\nbyte_time = 1e-9\ncompletion = \"buffered\"\nsource = \"x\"\n[[protocols]]\nsend_overhead = 2e-6",
            "24: protocols[1].up_to: expected more than 100, the limit of the protocol before, found 100",
        ),
        (
            "completion = \"buffered\"",
            "completion = true",
            "20: protocols[0].completion: expected one of \"buffered\", \
          \"injected\", \"rendezvous\", found true",
        ),
        (
            "[packets]",
            "[packet]",
            "31: packet: expected one of the keys name, title, year, description, estimand, topology, switching, \
          protocols, packets, cache, node, self_message, host, files, host_files, shifts, connections, fghc, \
          primitives, parallel, routers, processors, operations, facts, alternative; did you mean packets?",
        ),
        ("bytes = 1024", "bytes = 0", "32: packets.bytes: expected a whole number of bytes of at least 1, found 0"),
        (
            "minimum = 32",
            "minimum = 2000",
            "33: packets.minimum: expected at most 1024, the bytes of a full packet, found 2000",
        ),
        ("acknowledged = true", "acknowledged = 1", "34: packets.acknowledged: expected true or false, found 1"),
        (
            "memory_channels = 1",
            "memory_channels = 0",
            "38: node.memory_channels: expected a whole number of at least 1, found 0",
        ),
        (
            "memory_available = 900",
            "memory_available = 2000",
            "40: node.memory_available: expected at most 1000, the memory \
          of a node, found 2000",
        ),
        (
            "[self_message]\nstartup = 1e-6\nbyte_time = 1e-9\nsource = \"made up\"",
            "[self_message]\nstartup = 1e-6\nbyte_time = 1e-9",
            "44: self_message.startup: expected a source: a key source in [self_message], or { value = …, source = \"…\" }",
        ),
        (
            "float64_add",
            "float64_ad",
            "49: operations.float64_ad: expected one of the operations int16_add, int32_add, \
          int16_multiply, int32_multiply, float32_add, float64_add, float32_multiply, float64_multiply, \
          float32_sum_of_products, float64_sum_of_products, float32_axpy, float64_axpy, copy_byte, \
          loop_turn; did you mean float64_add?",
        ),
        (
            "{ value = 1e9, unit = \"Hz\" }",
            "1e9",
            "53: facts.clock_rate: expected a number with a unit, as \
          { value = 40e6, unit = \"Hz\" }, found 1e9",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(answer(from, to), format!("tiny.toml:{expected}"));
    }
}

#[test]
fn no_unit_is_named_of_what_has_none() {
    let answer = |machine: &str, from: &str, to: &str| {
        let text = weft_machine::find(machine).unwrap().to_toml();
        assert!(text.contains(from), "{from}");
        let error = Machine::parse(&text.replacen(from, to, 1), "cm.toml").unwrap_err().to_string();
        error.lines().next().unwrap_or_default().split_once(": ").map(|(_, fault)| fault.to_owned()).unwrap()
    };
    assert_eq!(
        answer("cm2-8k", "store_share = ", "store_share = -"),
        "primitives.store_share: expected a number of at least 0, found -0.1449"
    );
    assert_eq!(
        answer("cm2-8k", "store_share = 0.1449\n", ""),
        "primitives.store_share: expected a number of at least 0; the key is missing from [primitives]"
    );
    assert_eq!(
        answer("torus8x8-flit", "cycle_time = { value = 1e-9", "cycle_time = { value = 0"),
        "routers.cycle_time: expected a number above 0, in s, found 0"
    );
}

#[test]
fn what_is_no_toml_is_said_to_be_none() {
    for (from, to, line) in
        [("dimension = 3", "dimension = ", 7), ("[node]", "[node", 37), ("year = 2000", "title = \"again\"", 3)]
    {
        let answer = answer(from, to);
        assert!(answer.starts_with(&format!("tiny.toml:{line}: syntax: expected TOML: ")), "{answer}");
    }
}

#[test]
fn topologies_that_cannot_be_are_refused() {
    let cases = [
        ("kind = \"torus\"\nextents = []", "7: topology.extents: expected 1 to 16 numbers of nodes, one for each axis"),
        (
            "kind = \"mesh\"\nextents = [4, \"x\"]",
            "7: topology.extents: expected a list of whole numbers, as [4, 4], found the text \"x\" in it",
        ),
        ("kind = \"torus\"\nextents = [5000, 5000]", "7: topology.extents: expected at most 16777216 nodes in all"),
        (
            "kind = \"fat-tree\"\nchildren = [4, 4]\nparents = [1]",
            "8: topology.parents: expected 2 numbers, as many as children",
        ),
        ("kind = \"crossbar\"\nnodes = 0", "7: topology.nodes: expected at least 1"),
        (
            "kind = \"dragonfly\"\ngroups = 9\nrouters_per_group = 2\nnodes_per_router = 2\nglobal_links_per_router = 1",
            "10: topology.global_links_per_router: expected at least 4, so that each of the 9 groups is linked to every other",
        ),
    ];
    for (to, expected) in cases {
        assert_eq!(answer("kind = \"hypercube\"\ndimension = 3", to), format!("tiny.toml:{expected}"));
    }
}

#[test]
fn the_place_is_shown_under_the_first_line() {
    let text = GOOD.replacen("hop_time = 1e-6", "\thop_time = -1e-6", 1);
    let faults = Machine::parse(&text, "tiny.toml").unwrap_err();
    let [fault] = faults.all() else { panic!("{faults}") };
    assert_eq!((fault.line, fault.column, fault.key.as_str()), (18, 13, "protocols[0].hop_time"));
    assert_eq!(
        fault.to_string(),
        "tiny.toml:18: protocols[0].hop_time: expected a number of at least 0, in s, found -1e-6\n   |\n\
         18 | \thop_time = -1e-6\n   | \t           ^^^^^"
    );
}

/// The first lines of all faults of `GOOD` with these changes, each of one place.
fn answers(changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = GOOD.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let faults = Machine::parse(&text, "tiny.toml").unwrap_err();
    let lines: Vec<String> =
        faults.to_string().split("\n\n").map(|fault| fault.lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines.len(), faults.all().len());
    lines
}

/// Faults of different tables and keys, in the order of the lines that they are in.
const INDEPENDENT: [(&str, &str); 9] = [
    ("title = \"A tiny machine\"", "title = 3"),
    ("year = 2000", "year = \"now\""),
    ("dimension = 3", "dimension = 1.5"),
    ("technique = \"store-and-forward\"", "technique = \"wormhol\""),
    ("hop_time = 1e-6", "hop_time = -1e-6"),
    ("completion = \"injected\"", "completion = \"never\""),
    ("minimum = 32", "minimun = 32"),
    ("memory_bytes = 1000", "memory_bytes = -1"),
    ("float64_add = 1e-9", "float64_ad = 1e-9"),
];

#[test]
fn all_faults_are_told_at_once() {
    let each: Vec<String> = INDEPENDENT
        .iter()
        .map(|change| match answers(&[*change]).as_slice() {
            [only] => only.clone(),
            several => panic!("{several:?}"),
        })
        .collect();
    assert_eq!(answers(&INDEPENDENT), each);
    for (first, one) in INDEPENDENT.iter().zip(&each) {
        for (second, other) in INDEPENDENT.iter().zip(&each).filter(|(second, _)| *second != first) {
            let mut both = vec![one.clone(), other.clone()];
            both.sort_by_key(|line| line.split(':').nth(1).unwrap().parse::<usize>().unwrap());
            assert_eq!(answers(&[*first, *second]), both);
        }
    }
}

#[test]
fn one_fault_is_not_told_as_others() {
    // A key that is missing because it is misspelt, and comparisons with what stands for a wrong value.
    for change in [
        ("[switching]", "[swiching]"),
        ("bytes = 1024", "bites = 1024"),
        ("bytes = 1024", "bytes = 0"),
        ("memory_bytes = 1000", "memory_bytes = \"1000\""),
        ("up_to = 100", "up_to = \"100\""),
        ("dimension = 3", "dimension = 99"),
        ("kind = \"hypercube\"", "kind = \"hypercub\""),
        ("source = \"made up\"", "source = 3"),
    ] {
        assert_eq!(answers(&[change]).len(), 1, "{change:?}: {:?}", answers(&[change]));
    }
}

#[test]
fn of_many_faults_twenty_are_shown() {
    let keys: String = (0..23).map(|key| format!("key{key} = 1\n")).collect();
    let faults = Machine::parse(&format!("{keys}{GOOD}"), "tiny.toml").unwrap_err();
    assert_eq!(faults.all().len(), 23);
    let text = faults.to_string();
    assert_eq!(text.matches("expected one of the keys").count(), 20);
    assert!(text.ends_with("\n\n3 more faults are not shown"), "{text}");
}

#[test]
fn an_empty_file_is_answered_at_line_one() {
    let fault = Machine::parse("", "empty.toml").unwrap_err();
    assert_eq!(
        fault.to_string().lines().next().unwrap(),
        "empty.toml:1: topology: expected a table [topology]; the key is missing from the file"
    );
}

/// A machine whose nodes have another startup for short messages to themselves.
fn with_short(keys: &str) -> Result<weft_machine::Machine, weft_machine::Faults> {
    let text = weft_machine::find("ncube6400").unwrap().to_toml();
    let at = text.find("[self_message]").unwrap() + "[self_message]\n".len();
    weft_machine::Machine::parse(&format!("{}{keys}{}", &text[..at], &text[at..]), "short.toml")
}

#[test]
fn short_messages_of_a_node_to_itself_have_a_startup_of_their_own() {
    let source = "source = \"made up\" }\n";
    let keys = format!("short_up_to = {{ value = 100, {source}short_startup = {{ value = 1e-6, {source}");
    let machine = with_short(&keys).unwrap();
    let own = &machine.self_message;
    let per_byte = own.byte_time;
    assert!((machine.self_time(100) - (1e-6 + 100.0 * per_byte)).abs() < 1e-12);
    assert!((machine.self_time(101) - (own.startup + 101.0 * per_byte)).abs() < 1e-12);
    assert_eq!(weft_machine::Machine::parse(&machine.to_toml(), "again.toml").unwrap().self_message, *own);
    let faults = with_short(&format!("short_up_to = {{ value = 100, {source}")).unwrap_err().to_string();
    assert!(faults.contains("self_message") && faults.contains("short_startup"), "{faults}");
    let faults = with_short(&format!("short_startup = {{ value = 1e-6, {source}")).unwrap_err().to_string();
    assert!(faults.contains("the longest with short_startup"), "{faults}");
}

const PARALLEL: &str = r#"
[parallel]
launch = 1e-6
result = 1e-5
byte_time = 1e-12
cache_bytes = 4e7
cache_byte_time = 2e-13
scattered_time = 2e-11
collision_time = 5e-10
integer_time = 1e-13
float32_time = 1e-13
float64_time = 2e-13
divide_time = 4e-13
function_time = 4e-13
source = "made up"
"#;

/// What a file of a device that streams is answered with, after one change; nothing where it is read.
fn answer_of_device(from: &str, to: &str) -> String {
    assert_eq!(PARALLEL.matches(from).count(), 1, "{from}");
    let (head, _) = GOOD.split_once("[[protocols]]").unwrap();
    let text = head.to_owned() + &PARALLEL.replace(from, to);
    Machine::parse(&text, "device.toml").err().map(|faults| faults.to_string()).unwrap_or_default()
}

#[test]
fn what_streams_or_computes_takes_time() {
    for key in ["\nbyte_time = 1e-12", "float32_time = 1e-13", "divide_time = 4e-13"] {
        let (name, _) = key.split_once(" = ").unwrap();
        let text = answer_of_device(key, &format!("{name} = 0"));
        assert!(text.contains(&format!("parallel.{}: expected a number above 0", name.trim())), "{text}");
        assert_eq!(text.matches("expected").count(), 1, "{text}");
    }
    for (key, zero) in [("launch = 1e-6", "launch = 0"), ("collision_time = 5e-10", "collision_time = 0")] {
        assert_eq!(answer_of_device(key, zero), "");
    }
}

#[test]
fn a_cache_is_no_slower_than_its_memory() {
    let text = answer_of_device("cache_byte_time = 2e-13", "cache_byte_time = 2e-12");
    assert!(text.contains("parallel.cache_byte_time: expected at most the 1e-12 of byte_time"), "{text}");
    assert!(text.contains("cache_byte_time = 2e-12\n"), "{text}");
    assert_eq!(answer_of_device("cache_byte_time = 2e-13", "cache_byte_time = 1e-12"), "");
    assert_eq!(
        answer_of_device("cache_bytes = 4e7\ncache_byte_time = 2e-13", "cache_bytes = 0\ncache_byte_time = 0"),
        ""
    );
}

#[test]
fn a_machine_without_messages_needs_another_table() {
    let (head, _) = GOOD.split_once("[[protocols]]").unwrap();
    let text = Machine::parse(head, "bare.toml").unwrap_err().to_string();
    assert!(text.contains("at least one table [[protocols]], or [parallel]"), "{text}");
}

#[test]
fn processors_of_computers_divide_the_nodes() {
    let with = |cores: u64, sockets: u64| {
        let counts = format!("threads = 2\ncores = {cores}\ncaches = 1\nnuma_nodes = 1\nsockets = {sockets}\n");
        Machine::parse(&format!("{GOOD}\n[processors]\n{counts}source = \"made up\"\n"), "tiny.toml")
    };
    let processors = with(2, 2).unwrap().processors.unwrap();
    assert_eq!(processors.cores_of_computer(), 4);
    assert_eq!(
        (processors.location(7).core, processors.location(7).socket, processors.location(7).computer),
        (3, 1, 0)
    );
    // As many as there are no numbers for are too many as well.
    for (cores, sockets) in [(3, 1), (8, 2), (u64::MAX / 2, 2), (1 << 40, 1 << 40)] {
        let fault = with(cores, sockets).unwrap_err().to_string();
        if cores <= i64::MAX as u64 {
            assert!(fault.contains("processors: expected threads x cores x caches x numa_nodes x sockets"), "{fault}");
            assert!(fault.contains("to divide the 8 nodes of the topology, which are processors"), "{fault}");
        }
    }
}
