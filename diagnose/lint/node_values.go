package lint

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// nodeValues are the values of one label, or of one field, that meet all requirements seen so far.
type nodeValues struct {
	in       map[string]bool // nil: any value
	not      map[string]bool
	must, no bool  // the label must exist, must not exist
	lo, hi   int64 // no label value is negative
	bounded  bool  // lo and hi count
}

// among keeps only the values of a list.
func (v *nodeValues) among(list []string) {
	v.must = true
	next := map[string]bool{}
	for _, x := range list {
		if v.in == nil || v.in[x] {
			next[x] = true
		}
	}
	v.in = next
}

// meet adds a requirement. It returns why no value meets the requirement, "" in most cases.
func (v *nodeValues) meet(r v1.NodeSelectorRequirement) string {
	switch r.Operator {
	case v1.NodeSelectorOpIn:
		v.among(r.Values)
	case v1.NodeSelectorOpNotIn:
		for _, x := range r.Values {
			v.not[x] = true
		}
	case v1.NodeSelectorOpExists:
		v.must = true
	case v1.NodeSelectorOpDoesNotExist:
		v.no = true
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return ""
		}
		n, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return fmt.Sprintf("%s %s %s is no number", r.Key, r.Operator, r.Values[0])
		}
		switch {
		case n < 0:
			return fmt.Sprintf("%s %s %s is no label value", r.Key, r.Operator, r.Values[0])
		case r.Operator == v1.NodeSelectorOpLt:
			v.hi = min(v.hi, n-1)
		case n == math.MaxInt64:
			return "no number is left for " + r.Key
		default:
			v.lo = max(v.lo, n+1)
		}
		v.must, v.bounded = true, true
	}
	return ""
}

// none returns why no value of the key is left; "" when one is.
func (v *nodeValues) none(key string) string {
	left := 0
	for x := range v.in {
		n, err := strconv.ParseInt(x, 10, 64)
		if !v.not[x] && (!v.bounded || err == nil && n >= v.lo && n <= v.hi) {
			left++
		}
	}
	switch {
	case v.must && v.no:
		return key + " must exist and must not exist"
	case v.in != nil && left == 0:
		return "no value of " + key + " is left"
	case v.lo > v.hi:
		return "no number is left for " + key
	}
	return ""
}

// conflict returns why no labels meet a node selector and a term; "" when some do.
func conflict(selector map[string]string, t v1.NodeSelectorTerm) string {
	byKey := map[string]*nodeValues{}
	of := func(key string) *nodeValues {
		v := byKey[key]
		if v == nil {
			v = &nodeValues{not: map[string]bool{}, hi: math.MaxInt64}
			byKey[key] = v
		}
		return v
	}
	for k, x := range selector {
		of(k).among([]string{x})
	}
	fields := slices.Clone(t.MatchFields)
	for i := range fields {
		fields[i].Key = "field " + fields[i].Key
	}
	for _, r := range append(fields, t.MatchExpressions...) {
		if why := of(r.Key).meet(r); why != "" {
			return why
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if why := byKey[key].none(key); why != "" {
			return why
		}
	}
	return ""
}

// oneTooMany reports whether a term that no labels meet has a requirement without which some do.
func oneTooMany(selector map[string]string, t v1.NodeSelectorTerm) bool {
	for i := range t.MatchFields {
		less := t
		if less.MatchFields = slices.Delete(slices.Clone(t.MatchFields), i, i+1); conflict(selector, less) == "" {
			return true
		}
	}
	for i := range t.MatchExpressions {
		less := t
		if less.MatchExpressions = slices.Delete(slices.Clone(t.MatchExpressions), i, i+1); conflict(selector, less) == "" {
			return true
		}
	}
	return false
}
