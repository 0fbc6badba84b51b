package taints

import (
	v1 "k8s.io/api/core/v1"
)

// Options selects behaviour that v1.36 does not have by default. The zero value is v1.36.
type Options struct {
	// ComparisonOperators lets the operators Gt and Lt compare the taint's value with the toleration's as numbers.
	// It stands for the feature gate TaintTolerationComparisonOperators, alpha since v1.35 and off by default: a
	// toleration with one of them then tolerates nothing.
	ComparisonOperators bool
	// NamedTaint makes the filter's reason name the first untolerated taint, as versions up to v1.34.0 did:
	// "node(s) had untolerated taint {key: value}".
	NamedTaint bool
}

// operator is how a compiled toleration looks at the value of a taint.
type operator uint8

const (
	equal operator = iota
	exists
	greater
	less
)

// kind is an effect as a small number, so that a taint's effect is read once for all tolerations.
type kind uint8

const (
	none kind = iota
	noSchedule
	preferNoSchedule
	noExecute
	unknown
)

func kindOf(effect v1.TaintEffect) kind {
	switch effect {
	case "":
		return none
	case v1.TaintEffectNoSchedule:
		return noSchedule
	case v1.TaintEffectNoExecute:
		return noExecute
	case v1.TaintEffectPreferNoSchedule:
		return preferNoSchedule
	}
	return unknown
}

// toleration is a toleration that can match something, prepared for comparison.
type toleration struct {
	key, value string
	effect     v1.TaintEffect
	kind       kind // of the effect
	op         operator
	number     int64 // the value as a number, for greater and less
	index      int   // place in the list it was compiled from
	limited    bool  // tolerationSeconds is set
	seconds    int64 // tolerationSeconds
}

// compile prepares t; ok is false when t cannot match any taint.
func compile(t *v1.Toleration, index int, o Options) (c toleration, ok bool) {
	c = toleration{key: t.Key, value: t.Value, effect: t.Effect, kind: kindOf(t.Effect), index: index}
	if t.TolerationSeconds != nil {
		c.limited, c.seconds = true, *t.TolerationSeconds
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		c.op = equal
	case v1.TolerationOpExists:
		c.op = exists
	case v1.TolerationOpGt, v1.TolerationOpLt:
		if !o.ComparisonOperators {
			return c, false
		}
		c.op = greater
		if t.Operator == v1.TolerationOpLt {
			c.op = less
		}
		if c.number, ok = canonicalInt(t.Value); !ok {
			return c, false
		}
	default:
		return c, false
	}
	return c, true
}

// tolerates reports whether t tolerates the taint, whose effect is of kind k.
func (t *toleration) tolerates(taint *v1.Taint, k kind) bool {
	if t.kind != none && (t.kind != k || k == unknown && t.effect != taint.Effect) ||
		t.key != "" && t.key != taint.Key {
		return false
	}
	switch t.op {
	case equal:
		return t.value == taint.Value
	case exists:
		return true
	}
	n, ok := canonicalInt(taint.Value)
	return ok && (t.op == greater && n > t.number || t.op == less && n < t.number)
}

// Matches reports whether the toleration tolerates the taint (documentation, "Taints and Tolerations", Concepts; API
// field pod.spec.tolerations):
//
//  1. A non-empty effect must be the taint's. An empty one stands for every effect.
//  2. A non-empty key must be the taint's. An empty one stands for every key, whatever the operator.
//  3. Operator Exists accepts every value, Equal (or "") only the same value, Gt and Lt compare whole numbers with the
//     taint's value on the left when Options.ComparisonOperators is set. Any other operator accepts nothing.
//
// tolerationSeconds does not matter. Strings are compared byte by byte. There are no errors: what the API server would
// refuse (ValidateTolerations) is matched by the same rules. Mismatch says why the answer is no.
func Matches(t *v1.Toleration, taint *v1.Taint, o Options) bool {
	c, ok := compile(t, 0, o)
	return ok && c.tolerates(taint, kindOf(taint.Effect))
}

// canonicalInt reads a canonical decimal integer: 0, or an optional minus sign and digits of which the first is not 0,
// within int64.
func canonicalInt(s string) (n int64, ok bool) {
	digits := s
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		digits = s[1:]
	}
	if digits == "" || len(digits) > 19 || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	var u uint64 // 19 digits fit
	for i := 0; i < len(digits); i++ {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u), true
	case !negative && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

// Same reports whether the two taints are the same taint of a node: key and effect are equal. A node has at most one
// taint of each key and effect.
func Same(a, b *v1.Taint) bool { return a.Key == b.Key && a.Effect == b.Effect }

// Hard reports whether the effect keeps pods from being placed: NoSchedule or NoExecute. PreferNoSchedule, empty and
// unknown effects never do.
func Hard(effect v1.TaintEffect) bool { return kindOf(effect).hard() }

func (k kind) hard() bool { return k == noSchedule || k == noExecute }
