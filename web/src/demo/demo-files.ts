// What the demo agent writes, and the policy that it works under.

import type { Policy } from "../api/types";

export const POLICY: Policy = {
  rules: {
    default: "allow",
    read: { default: "allow", rules: [{ pattern: "**/.env", action: "deny", description: "Secrets stay secret" }] },
    write: {
      default: "allow",
      rules: [{ pattern: "**/deploy/**", action: "ask", description: "Changes of the deployment are approved" }],
    },
    execute: {
      default: "allow",
      rules: [
        { pattern: "curl *", action: "deny", description: "No downloads" },
        { pattern: "git push*", action: "ask", description: "Pushes are approved" },
      ],
    },
  },
};

const PRIMES = `"""Primes up to a limit, by trial division."""

import sys


def is_prime(number: int) -> bool:
    # TODO: a sieve is faster for many numbers
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def primes(limit: int) -> list[int]:
    return [number for number in range(2, limit) if is_prime(number)]


if __name__ == "__main__":
    print(*primes(int(sys.argv[1])))
`;

const TESTS = `import unittest

from primes import primes


class Primes(unittest.TestCase):
    def test_the_limit_counts(self):
        self.assertEqual(primes(7), [2, 3, 5, 7])


if __name__ == "__main__":
    unittest.main()
`;

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>Primes</title>
<style>body { font: 16px system-ui; margin: 3rem; } b { color: #0a7357; }</style>
<h1>Primes</h1>
<p>The first ones are <b>2</b>, <b>3</b>, <b>5</b> and <b>7</b>.</p>
`;

const FIRST_README = "# Primes\n\nPrints the primes below a limit:\n\n    python3 primes.py 30\n";
export const README = "# Primes\n\nPrints the primes up to a limit, itself included:\n\n    python3 primes.py 31\n";

export const FILES: Record<string, string> = {
  "README.md": FIRST_README,
  "primes.py": PRIMES,
  "test_primes.py": TESTS,
  "site/index.html": PAGE,
};

export const REPORT = `# Report

- \`primes.py\` left out the limit itself; fixed, and tested.
- A server with the result runs on port 3000.
- The change of the deployment waits for approval.
`;
