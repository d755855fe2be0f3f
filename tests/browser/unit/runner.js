// Runs the tests that follow it and leaves what they found in `window.results`.

const results = [];

function test(name, body) {
  try {
    body();
    results.push({ name, error: null });
  } catch (error) {
    results.push({ name, error: String(error.message || error) });
  }
}

function assertEqual(actual, expected) {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (got !== wanted) throw new Error(`got ${got}; expected ${wanted}`);
}

function assertTrue(value, message) {
  if (!value) throw new Error(message || "expected something true");
}

window.results = results;
