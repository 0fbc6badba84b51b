package reuse

import (
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/intern"
)

// nodePlugin is a predicate or a scorer of group Statics.
type nodePlugin struct {
	filter filter.Predicate // nil: a scorer
	scorer Scorer
	signed Signed // nil: reader
	reader reader
}

// describe finds how the answers of x depend on a node. It reports false when x does not say so.
func (a *nodePlugin) describe(x any) bool {
	a.reader, _ = x.(reader)
	a.signed, _ = x.(Signed)
	return a.reader != nil || a.signed != nil
}

// appendAnswer appends integers that determine the answer about a slot. A signature has its length behind it, because it may have
// another length for every slot.
func (a *nodePlugin) appendAnswer(dst []int32, i int) []int32 {
	switch {
	case a.signed != nil:
		n := len(dst)
		dst = a.signed.AppendSignature(dst, i)
		return append(dst, int32(len(dst)-n))
	case a.filter != nil:
		return append(dst, int32(a.filter.Check(i)))
	}
	raw := a.scorer.Raw(i)
	return append(dst, int32(raw), int32(raw>>32))
}

// classes is a log that divides its nodes by what is read of them.
type classes interface {
	Classes(reads []string) (ids, reps []int32, ok bool)
}

// column has what a predicate or scorer answers about each class of nodes.
type column struct {
	ids     []int32 // class by slot
	answers []int32 // by class: the number of the answer, times a factor
}

// maxAnswers limits the table of all combinations of answers.
const maxAnswers = 1 << 16

// classifyAll finds the class of every node. Where the log has classes it asks once for each of them.
func (t *statics) classifyAll(e *Engine) {
	columns, n, ok := t.columns(e.log)
	if !ok {
		for _, i := range e.scan {
			t.classify(i)
		}
		return
	}
	known := make([]int32, n) // by combination: the class of the nodes, and 1 more; 0: none yet
	for _, i := range e.scan {
		at := int32(0)
		for k := range columns {
			c := &columns[k]
			at += c.answers[c.ids[i]]
		}
		if known[at] == 0 {
			t.classify(i)
			known[at] = t.class[i] + 1
		}
		t.class[i] = known[at] - 1
	}
}

// columns asks about one node of each class. n is the number of combinations. It reports false when the log does not have the classes, or when
// there are too many combinations.
func (t *statics) columns(log Log) (out []column, n int, ok bool) {
	l, ok := log.(classes)
	n = 1
	for k := range t.plugins {
		if !ok || t.plugins[k].reader == nil {
			return nil, 0, false
		}
		var c column
		var reps []int32
		if c.ids, reps, ok = l.Classes(t.plugins[k].reader.Reads(nil)); !ok {
			return nil, 0, false
		}
		var numbers intern.Lists
		c.answers = make([]int32, len(reps))
		for class, slot := range reps {
			if slot < 0 || log.Node(int(slot)) == nil {
				continue
			}
			numbers.Next = t.plugins[k].appendAnswer(numbers.Next[:0], int(slot))
			id, _ := numbers.Number()
			c.answers[class] = id * int32(n)
		}
		if answers := numbers.Len(); answers > 1 {
			if n *= answers; n > maxAnswers {
				return nil, 0, false
			}
			out = append(out, c)
		}
	}
	return out, n, ok
}
