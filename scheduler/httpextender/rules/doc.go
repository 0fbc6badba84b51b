// Package rules (experimental) has the rules of scheduler extenders that need no HTTP: which pods an extender is asked about, in which
// order extenders are asked, what an answer to filter means, and what v1.37 finds wrong with a configuration.
//
//	for _, k := range rules.Order(extenders) {
//		url := rules.URL(prefix, verb)                                            // ask extender k there
//		left, err := rules.ApplyFilter(url, rules.NotCacheCapable, asked, answer) // what its answer leaves
//	}
//
// Package httpextender asks over HTTP. Package score adds up an extender's scores (Totals), and package preemption applies
// an extender's answer about victims (Extender). Arguments are only read.
//
// Rule: configuration API of v1.37, Extender.
package rules
