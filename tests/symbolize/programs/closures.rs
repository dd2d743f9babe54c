// SPDX-License-Identifier: MIT
// closures.rs - Rust: methods inside types, closures inside functions, generics from the standard library.
struct Stock {
    items: Vec<String>,
}

impl Stock {
    #[inline(never)]
    fn add(&mut self, name: &str) {
        self.items.push(name.to_string());
    }
}

mod shop {
    #[inline(never)]
    pub fn fill(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("item {}", number)).collect()
    }
}

fn main() {
    let mut stock = Stock { items: Vec::new() };
    for name in shop::fill(5) {
        stock.add(&name);
    }
    println!("{}", stock.items.len());
}
