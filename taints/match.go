package taints

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Options selects behaviour that v1.37 does not have by default. The zero value is v1.37's default.
type Options struct {
	// ComparisonOperators enables the operators Gt and Lt, which compare the values of taint and toleration as numbers.
	// It is the feature gate TaintTolerationComparisonOperators, alpha since v1.35 and off by default. Without it a
	// toleration with one of these operators tolerates nothing.
	ComparisonOperators bool
}

// operator is how a compiled toleration compares values.
type operator uint8

const (
	equal operator = iota
	exists
	greater
	lessThan
)

// effectKind is an effect as a small number, so that a taint's effect is read once for all tolerations.
type effectKind uint8

const (
	noEffect effectKind = iota
	noSchedule
	preferNoSchedule
	noExecute
	unknown
)

func kindOf(effect v1.TaintEffect) effectKind {
	switch effect {
	case "":
		return noEffect
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
	kind       effectKind // kind of the effect
	op         operator
	number     int64 // the value as a number, for greater and less
	index      int   // index in the list that it was compiled from
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
			c.op = lessThan
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
func (t *toleration) tolerates(taint *v1.Taint, k effectKind) bool {
	if t.kind != noEffect && (t.kind != k || k == unknown && t.effect != taint.Effect) ||
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
	return ok && (t.op == greater && n > t.number || t.op == lessThan && n < t.number)
}

// Matches reports whether the toleration tolerates the taint (documentation, "Taints and Tolerations", Concepts; API
// field pod.spec.tolerations):
//
//  1. A non-empty effect must equal the effect of the taint. An empty effect matches every effect.
//  2. A non-empty key must equal the key of the taint. An empty key matches every key, whatever the operator.
//  3. Operator Exists accepts every value. Equal and the empty operator accept the same value. Gt and Lt compare whole
//     numbers, with the taint's value on the left, when [Options.ComparisonOperators] is set. Any other operator accepts
//     nothing.
//
// tolerationSeconds does not matter. Strings are compared byte by byte. There are no errors: the same rules hold for
// tolerations that the API server would refuse.
func Matches(t *v1.Toleration, taint *v1.Taint, o Options) bool {
	c, ok := compile(t, 0, o)
	return ok && c.tolerates(taint, kindOf(taint.Effect))
}

// canonicalInt reads a canonical decimal integer within int64: 0, or an optional minus sign and digits that do not begin
// with 0 (rule T1.4).
func canonicalInt(s string) (n int64, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
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
	case u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

// hard reports whether the effect keeps pods from being placed. PreferNoSchedule, empty and unknown effects never do.
func (k effectKind) hard() bool { return k == noSchedule || k == noExecute }
