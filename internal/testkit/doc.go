// Package testkit is what podberth's tests share: builders of nodes and pods, a plain cluster without any index, the
// runner of text scenarios, the check that arguments stay untouched, and the tests of the repository's own rules
// (dependencies, fidelity tables). It panics on malformed test input.
package testkit
