// Package key writes what a rule reads of a pod as a byte string. Two values of one kind write the same bytes exactly if
// they are equal: lists and strings carry their length, and maps are written in one order of their keys.
//
//	dst = key.Text(dst, pod.Namespace)
//	dst = key.Pairs(dst, pod.Labels)
//
// Every function appends to dst and returns the longer slice, as append does. No function changes its argument. Writing
// maps with more than 16 keys allocates, and so do lists with more than 4 resources beside cpu and memory.
package key

import (
	"encoding/binary"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Int appends a number.
func Int(dst []byte, n int64) []byte { return binary.AppendVarint(dst, n) }

// Len appends a length.
func Len(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

// Flag appends a bool.
func Flag(dst []byte, f bool) []byte {
	if f {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// Text appends a string.
func Text[T ~string](dst []byte, s T) []byte { return append(Len(dst, len(s)), s...) }

// Open begins a frame, and Close ends it: the bytes between carry their length in front of them, as a text does, so that no byte in
// front of them or behind them can be read as one of theirs. Keys of several writers that stand one behind the other are framed. At
// is the length of dst before Open:
//
//	at := len(dst)
//	dst = key.Close(write(key.Open(dst), pod), at)
func Open(dst []byte) []byte { return append(dst, 0) }

// Close ends the frame that begins at dst[at]. Bytes that end before it stay as they are: their writer did not append.
func Close(dst []byte, at int) []byte {
	n := len(dst) - at - 1
	switch {
	case n < 0:
	case n < 0x80: // Open left room for a length of one byte
		dst[at] = byte(n)
	default:
		return widen(dst, at)
	}
	return dst
}

// widen makes room for a length of several bytes.
func widen(dst []byte, at int) []byte {
	var length [binary.MaxVarintLen64]byte
	width := binary.PutUvarint(length[:], uint64(len(dst)-at-1))
	dst = append(dst, length[1:width]...)
	copy(dst[at+width:], dst[at+1:len(dst)-width+1])
	copy(dst[at:], length[:width])
	return dst
}

// Texts appends a list of strings. nil and an empty list are equal.
func Texts[T ~string](dst []byte, list []T) []byte {
	dst = Len(dst, len(list))
	for _, s := range list {
		dst = Text(dst, s)
	}
	return dst
}

// Optional appends what a pointer refers to with write; nil differs from every value.
func Optional[T any](dst []byte, p *T, write func([]byte, T) []byte) []byte {
	if p == nil {
		return Flag(dst, false)
	}
	return write(Flag(dst, true), *p)
}

// Pairs appends a map of strings. nil and an empty map differ.
func Pairs(dst []byte, m map[string]string) []byte {
	dst = Len(Flag(dst, m != nil), len(m))
	if len(m) > 1 {
		return sortedPairs(dst, m)
	}
	for k, v := range m {
		dst = Text(Text(dst, k), v)
	}
	return dst
}

func sortedPairs(dst []byte, m map[string]string) []byte {
	type pair struct{ key, value string } // with the value, so that the map is read once
	var room [16]pair
	pairs := room[:0]
	for k, v := range m {
		pairs = append(pairs, pair{k, v})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	for i := range pairs {
		dst = Text(Text(dst, pairs[i].key), pairs[i].value)
	}
	return dst
}

// How an amount is written.
const (
	whole   = iota // units follow
	milli          // thousandths follow
	spelled        // the text follows
)

// Quantity appends a quantity. Quantities that are equal in value but differ in notation may differ.
func Quantity(dst []byte, q resource.Quantity) []byte { return quantity(dst, &q) }

func quantity(dst []byte, q *resource.Quantity) []byte {
	if n, ok := q.AsInt64(); ok { // the common case of bytes
		return Int(append(dst, whole), n)
	}
	n := q.MilliValue() // the common case of cpu
	if q.Cmp(*resource.NewMilliQuantity(n, resource.DecimalSI)) == 0 {
		return Int(append(dst, milli), n)
	}
	return Text(append(dst, spelled), q.String())
}

// Names of resources that most lists have. Any other name follows its code.
const (
	other = iota
	cpu
	memory
)

// Resources appends a list of amounts: cpu, memory, and the others in an order of their names. nil and an empty list are equal.
func Resources(dst []byte, list v1.ResourceList) []byte {
	dst = Len(dst, len(list))
	if len(list) == 0 {
		return dst
	}
	left := len(list)
	if q, some := list[v1.ResourceCPU]; some {
		dst = quantity(append(dst, cpu), &q)
		left--
	}
	if q, some := list[v1.ResourceMemory]; some {
		dst = quantity(append(dst, memory), &q)
		left--
	}
	if left > 0 {
		dst = otherResources(dst, list)
	}
	return dst
}

// otherResources appends what is neither cpu nor memory.
func otherResources(dst []byte, list v1.ResourceList) []byte {
	type amount struct {
		name v1.ResourceName
		q    resource.Quantity // with the name, so that the map is read once
	}
	var room [4]amount
	amounts := room[:0]
	for name, q := range list {
		if name != v1.ResourceCPU && name != v1.ResourceMemory {
			amounts = append(amounts, amount{name, q})
		}
	}
	slices.SortFunc(amounts, func(a, b amount) int {
		if d := len(a.name) - len(b.name); d != 0 { // most often; the names need not be read
			return d
		}
		return strings.Compare(string(a.name), string(b.name))
	})
	for k := range amounts {
		dst = quantity(Text(append(dst, other), amounts[k].name), &amounts[k].q)
	}
	return dst
}

// Selector appends a label selector. nil and an empty selector differ.
func Selector(dst []byte, s *metav1.LabelSelector) []byte {
	dst = Flag(dst, s != nil)
	if s == nil {
		return dst
	}
	dst = Len(Pairs(dst, s.MatchLabels), len(s.MatchExpressions))
	for i := range s.MatchExpressions {
		r := &s.MatchExpressions[i]
		dst = Texts(Text(Text(dst, r.Key), r.Operator), r.Values)
	}
	return dst
}

// Controller appends the kind and name of the owner that controls a pod.
func Controller(dst []byte, pod *v1.Pod) []byte {
	for i := range pod.OwnerReferences {
		if o := &pod.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			return Text(Text(Text(Flag(dst, true), o.APIVersion), o.Kind), o.Name)
		}
	}
	return Flag(dst, false)
}

// NodeSelector appends a node selector.
func NodeSelector(dst []byte, s v1.NodeSelector) []byte {
	dst = Len(dst, len(s.NodeSelectorTerms))
	for i := range s.NodeSelectorTerms {
		dst = NodeTerm(dst, &s.NodeSelectorTerms[i])
	}
	return dst
}

// NodeTerm appends a term of a node selector.
func NodeTerm(dst []byte, t *v1.NodeSelectorTerm) []byte {
	for _, list := range [...][]v1.NodeSelectorRequirement{t.MatchExpressions, t.MatchFields} {
		dst = Len(dst, len(list))
		for i := range list {
			dst = Texts(Text(Text(dst, list[i].Key), list[i].Operator), list[i].Values)
		}
	}
	return dst
}
