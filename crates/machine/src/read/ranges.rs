//! Which numbers can be meant: a time or a memory that is far from that of any machine was most likely written in
//! another unit.

/// Keys of `[parallel]` and all of `[operations]` are times of one element.
const ELEMENT_TIMES: [&str; 7] = [
    "scattered_time",
    "collision_time",
    "integer_time",
    "float32_time",
    "float64_time",
    "divide_time",
    "function_time",
];

/// From so many on a byte time is taken for a rate in bytes a second: 1 kB/s, below any network or memory.
const RATE: f64 = 1e3;

/// From so many on a time of an element is taken for a rate in operations a second, below any processor of today.
const OPERATION_RATE: f64 = 1e6;

/// The times other than zero that a key can have, both ends included.
struct Range {
    least: f64,
    most: f64,
    /// Of the power of ten that a number beyond `most` most likely lacks: microseconds or nanoseconds were meant.
    exponent: i32,
    /// What the range is of.
    of: &'static str,
}

/// A call, a message, a launch, a disk: from a tenth of the simulator's picosecond to a second. The longest of the
/// catalogue is 40 ms, a request to a host.
const TIME: Range = Range { least: 1e-13, most: 1.0, exponent: -6, of: "seconds" };

/// An element: a thousand devices of 10 to the 14 operations a second reach 1e-17. The longest of the catalogue is 43
/// microseconds, a product in software.
const ELEMENT: Range = Range { least: 1e-20, most: 1e-3, exponent: -9, of: "seconds an element" };

/// A cycle of a router: a kilohertz is below the clock of any computer.
const CYCLE: Range = Range { least: 1e-13, most: 1e-3, exponent: -9, of: "seconds a cycle" };

/// A byte: a modem of 9600 bit/s takes a millisecond.
const BYTE: Range = Range { least: 1e-20, most: 1e-3, exponent: -9, of: "seconds a byte" };

/// Years of machines: from the first with a stored program to those of which people write design studies.
const YEARS: (u64, u64) = (1940, 2100);

/// Bytes of a node's memory: from the 1024 bits of a processor of the MPP of 1983 to a thousand times the largest node
/// of today.
const MEMORY: (u64, u64) = (128, 1 << 50);

/// Bytes of a cache that all elements of a device share.
const SHARED_CACHE: (f64, f64) = (256.0, 1e12);

/// What to expect instead of a year in which no machine was built, and what may be meant.
pub(super) fn beyond_years(year: u64) -> Option<String> {
    let (first, last) = YEARS;
    if (first..=last).contains(&year) {
        return None;
    }
    let meant = match year {
        40..=99 => format!("; did you mean {}?", 1900 + year),
        0..=39 => format!("; did you mean {}?", 2000 + year),
        _ => String::new(),
    };
    Some(format!("expected a year from {first} to {last}, found {year}{meant}"))
}

/// What to expect instead of a number of bytes under `key` that no node has, and what may be meant.
pub(super) fn beyond_memory(count: u64, key: &str) -> Option<String> {
    let (least, most) = MEMORY;
    if !["memory_bytes", "memory_available"].contains(&key) || count == 0 || (least..=most).contains(&count) {
        return None;
    }
    let meant = if count < least {
        format!("; did you mean {}, of {count} GiB, or {}, of {count} MiB?", count << 30, count << 20)
    } else {
        String::new()
    };
    Some(format!("expected a whole number of bytes, from {least} to {most}, found {count}{meant}"))
}

/// What to expect instead of a time in `unit` that cannot be meant, and what may be meant; `None` for one that can be,
/// and for other units. `table` is where the key is, `number` as the file has it.
pub(super) fn beyond(value: f64, number: &str, table: &str, key: &str, unit: &str) -> Option<String> {
    let (smallest, largest) = SHARED_CACHE;
    let range = match unit {
        "B" if key == "cache_bytes" && value != 0.0 && !(smallest..=largest).contains(&value) => {
            let in_millions = value < smallest && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let meant = if in_millions { format!("; did you mean {number}e6?") } else { String::new() };
            return Some(format!("expected bytes, 0 or from {smallest} to {largest:e}, found {number}{meant}"));
        }
        "s/B" => BYTE,
        "s" if table == "operations" || (table == "parallel" && ELEMENT_TIMES.contains(&key)) => ELEMENT,
        "s" if table == "routers" => CYCLE,
        "s" => TIME,
        _ => return None,
    };
    let Range { least, most, of, .. } = range;
    if value == 0.0 || (least..=most).contains(&value) {
        return None;
    }
    Some(format!("expected {of}, 0 or from {least:e} to {most}, found {number}{}", range.hint(value, number, unit)))
}

impl Range {
    /// `; did you mean …?` for a time that is too long.
    fn hint(&self, value: f64, number: &str, unit: &str) -> String {
        let is_of_bytes = unit == "s/B";
        let is_rate = value >= if is_of_bytes { RATE } else { OPERATION_RATE } && self.exponent == BYTE.exponent;
        let meant = if is_rate { 1.0 / value } else { value / 10_f64.powi(-self.exponent) };
        if value < self.most || !(self.least..=self.most).contains(&meant) {
            return String::new();
        }
        if is_rate {
            let of = match (is_of_bytes, self.of == CYCLE.of) {
                (true, _) => "B/s",
                (_, true) => "cycles a second",
                _ => "operations a second",
            };
            return format!("; did you mean {:e}, of a rate of {number} {of}?", short(meant));
        }
        // As the file has it, in the likely unit; a number that has an exponent already gets another.
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let in_unit = if plain { format!("{number}e{}", self.exponent) } else { format!("{meant:e}") };
        if is_of_bytes {
            // Data sheets have no times of a byte: the number of a rate is as likely.
            return format!("; did you mean {in_unit}, or {:e}, of a rate of {number} GB/s?", short(1e-9 / value));
        }
        format!("; did you mean {in_unit}?")
    }
}

/// A number to the four digits that a message needs.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::{beyond, beyond_memory, beyond_years};

    #[test]
    fn years_and_memories_of_no_machine_are_refused() {
        let years = |year| beyond_years(year).unwrap_or_default();
        assert_eq!(years(99999), "expected a year from 1940 to 2100, found 99999");
        assert_eq!(years(91), "expected a year from 1940 to 2100, found 91; did you mean 1991?");
        assert_eq!(years(7), "expected a year from 1940 to 2100, found 7; did you mean 2007?");
        assert_eq!([1985, 2026, 2100].map(years), [""; 3]);
        let memory = |count| beyond_memory(count, "memory_bytes").unwrap_or_default();
        let range = "expected a whole number of bytes, from 128 to 1125899906842624, found";
        assert_eq!(memory(32), format!("{range} 32; did you mean 34359738368, of 32 GiB, or 33554432, of 32 MiB?"));
        assert_eq!(memory(1 << 60), format!("{range} 1152921504606846976"));
        // A processor of the CM-2, a node of the iPSC/1, a large node of today.
        assert_eq!([8192, 524_288, 1 << 45].map(memory), [""; 3]);
        assert_eq!(beyond_memory(32, "up_to"), None);
        let cache = |number: &str| beyond(number.parse().unwrap(), number, "parallel", "cache_bytes", "B");
        assert_eq!(cache("72").unwrap(), "expected bytes, 0 or from 256 to 1e12, found 72; did you mean 72e6?");
        assert_eq!([cache("0"), cache("72e6")], [None, None]);
    }

    #[test]
    fn what_is_a_thousand_million_times_off_is_refused() {
        for (number, table, key, unit, meant) in [
            ("500", "parallel", "collision_time", "s", "500e-9"),
            ("0.5", "parallel", "float32_time", "s", "0.5e-9"),
            ("4.0", "parallel", "launch", "s", "4.0e-6"),
            ("4e1", "protocols[1]", "send_overhead", "s", "4e-5"),
            ("0.08", "protocols[0]", "byte_time", "s/B", "0.08e-9, or 1.25e-8, of a rate of 0.08 GB/s"),
            ("6.8", "protocols[0]", "byte_time", "s/B", "6.8e-9, or 1.471e-10, of a rate of 6.8 GB/s"),
            ("6.8e9", "protocols[0]", "byte_time", "s/B", "1.471e-10, of a rate of 6.8e9 B/s"),
            ("1e12", "parallel", "byte_time", "s/B", "1e-12, of a rate of 1e12 B/s"),
            ("2", "operations", "float64_add", "s", "2e-9"),
            ("1", "routers", "cycle_time", "s", "1e-9"),
            ("2e9", "routers", "cycle_time", "s", "5e-10, of a rate of 2e9 cycles a second"),
            ("3.38e12", "operations", "float64_add", "s", "2.959e-13, of a rate of 3.38e12 operations a second"),
        ] {
            let message = beyond(number.parse().unwrap(), number, table, key, unit).unwrap();
            assert!(message.ends_with(&format!("found {number}; did you mean {meant}?")), "{message}");
        }
        // Too short, or far too long: nothing is near.
        let refused = |number: &str| beyond(number.parse().unwrap(), number, "parallel", "launch", "s").unwrap();
        assert_eq!(refused("4e-15"), "expected seconds, 0 or from 1e-13 to 1, found 4e-15");
        assert_eq!(refused("4e9"), "expected seconds, 0 or from 1e-13 to 1, found 4e9");
    }

    #[test]
    fn what_machines_take_is_accepted() {
        for (value, table, key, unit) in [
            (0.0, "protocols[0]", "hop_time", "s"),
            (0.04, "host_files", "request_time", "s"),
            (1.0, "protocols[0]", "send_overhead", "s"),
            (5.97e-14, "parallel", "float64_time", "s"),
            (1e-5, "host", "byte_time", "s/B"),
            (1.8e-13, "parallel", "cache_byte_time", "s/B"),
            // Other units have no range.
            (2.6, "primitives", "backward_share", ""),
        ] {
            assert_eq!(beyond(value, "", table, key, unit), None, "{table}.{key} = {value:e}");
        }
    }
}
