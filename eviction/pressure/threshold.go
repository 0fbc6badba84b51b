package pressure

import (
	"cmp"
	"math"
	"math/big"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// thresholdValue is an amount or a share of the signal's capacity. The zero value is the amount 0.
type thresholdValue struct {
	Quantity resource.Quantity
	Percent  bool    // true: Share counts; false: Quantity counts
	Share    float32 // 0.1 is 10%
	text     string  // text of the percentage, without the sign
}

// amount returns the absolute value (rule E2.15). It multiplies a share in single precision, as the kubelet does: 10% of
// 10Gi are 1073741840 bytes, 16 more than the exact amount. Options.ExactPercent computes the exact amount, rounded down.
func (v thresholdValue) amount(capacity int64, o Options) resource.Quantity {
	if !v.Percent {
		return v.Quantity.DeepCopy()
	}
	if n, ok := v.exact(capacity); ok && o.ExactPercent {
		return *resource.NewQuantity(n, resource.BinarySI)
	}
	n := float64(capacity) * float64(v.Share)
	switch {
	case n >= math.MaxInt64:
		return *resource.NewQuantity(math.MaxInt64, resource.BinarySI)
	case n != n:
		return *resource.NewQuantity(0, resource.BinarySI)
	}
	return *resource.NewQuantity(int64(n), resource.BinarySI)
}

// exact returns the percentage as a fraction from its text; ok is false for a text that is not a plain decimal.
func (v thresholdValue) exact(capacity int64) (int64, bool) {
	if len(v.text) > 64 || strings.Trim(v.text, "0123456789.+") != "" {
		return 0, false
	}
	share, ok := new(big.Rat).SetString(v.text)
	if !ok {
		return 0, false
	}
	share.Mul(share, new(big.Rat).SetFrac64(capacity, 100))
	n := new(big.Int).Quo(share.Num(), share.Denom())
	return n.Int64(), n.IsInt64()
}

// String returns the value in the notation of the configuration: "500Mi", "10%".
func (v thresholdValue) String() string {
	if v.Percent {
		return v.text + "%"
	}
	return v.Quantity.String()
}

// Threshold is met while less than Value is available.
type Threshold struct {
	Signal     Signal
	Value      thresholdValue
	Grace      time.Duration  // how long the threshold must be met before it evicts pods; 0 makes it a hard threshold, wherever it was configured
	MinReclaim thresholdValue // how much more than Value must be available before eviction stops
}

// hard reports whether the threshold acts at once and gives pods one second. A soft threshold with a grace period of 0s is
// hard too (rule E2.6).
func (t Threshold) hard() bool { return t.Grace == 0 }

// key identifies the threshold in a State: signal, value and grace.
func (t Threshold) key() string {
	return string(t.Signal) + "<" + t.Value.String() + "/" + t.Grace.String()
}

// String returns the threshold in flag notation, a soft threshold with its grace: "memory.available<1Gi",
// "memory.available<1Gi for 30s".
func (t Threshold) String() string {
	s := string(t.Signal) + "<" + t.Value.String()
	if !t.hard() {
		s += " for " + t.Grace.String()
	}
	return s
}

// met reports whether less than the value is available. An equal amount does not meet the threshold.
func (t Threshold) met(m Measurement, o Options) bool {
	q := t.Value.amount(m.Capacity, o)
	return q.CmpInt64(m.Available) > 0
}

// target returns how much must be available before eviction stops: the value plus the minimum reclaim.
func (t Threshold) target(capacity int64, o Options) resource.Quantity {
	q := t.Value.amount(capacity, o)
	q.Add(t.MinReclaim.amount(capacity, o))
	return q
}

// missed reports whether less than the target is available.
func (t Threshold) missed(m Measurement, o Options) bool {
	q := t.target(m.Capacity, o)
	return q.CmpInt64(m.Available) > 0
}

// compareThresholds orders thresholds as they act (rule E4.1):
//
//  1. by signal, in the order of Signals: memory first
//  2. hard before soft, and shorter grace first
//  3. the larger quantity first, then percentages, the larger one first
//  4. larger minimum reclaim first, compared as text
func compareThresholds(a, b Threshold) int {
	return cmp.Or(
		cmp.Compare(a.Signal.order(), b.Signal.order()),
		cmp.Compare(a.Grace, b.Grace),
		b.Value.Quantity.Cmp(a.Value.Quantity), // a percentage has the quantity 0
		cmp.Compare(b.Value.Share, a.Value.Share),
		cmp.Compare(b.MinReclaim.String(), a.MinReclaim.String()),
	)
}
