// Package testkit has what podberth's tests share: builders of nodes and pods, a plain cluster without any index, the runner
// of tables (Run), the runner of text scenarios (RunScenarios), the decoder of fuzz targets (Bytes), the check that
// arguments stay untouched (Unchanged), and the tests of the repository's own rules: imports, exported names, modules,
// fidelity tables, comments, pages and examples. The package panics on malformed test input.
package testkit
