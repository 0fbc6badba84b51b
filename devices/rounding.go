package devices

import (
	"errors"
	"fmt"
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// units are the units in which the amounts of a request policy count, and what happens at the edges of int64. Up to v1.36 sums wrap
// around there, in v1.37 they are errors (rule L1.11).
type units struct {
	milli bool // thousandths (Options.FractionalRange); else whole units, rounded up
	exact bool // an amount that int64 cannot hold is an error, and rounded amounts have the format of step, as in v1.37
}

// unitsOf returns the units of a policy. Thousandths serve where they can express the range, with a positive step.
func unitsOf(policy *resourcev1.CapacityRequestPolicy, o *Options) units {
	u := units{exact: refusesAmounts(o.Release)}
	if !o.FractionalRange || policy == nil || policy.ValidRange == nil {
		return u
	}
	r := policy.ValidRange
	u.milli = r.Step != nil && r.Step.Sign() > 0 && inMilli(r.Step) && (r.Min == nil || inMilli(r.Min)) && (r.Max == nil || inMilli(r.Max))
	return u
}

// inMilli reports whether an int64 can hold the amount in thousandths.
func inMilli(q *resource.Quantity) bool {
	return resource.NewMilliQuantity(q.MilliValue(), q.Format).Cmp(*q) == 0
}

func (u units) of(q *resource.Quantity) int64 {
	if u.milli {
		return q.MilliValue()
	}
	return q.Value()
}

// rounded returns the requested amount as the policy rounds it. The error is about an amount that int64 cannot hold, in v1.37, or
// about a policy that the API server refuses.
func (u units) rounded(amount resource.Quantity, policy *resourcev1.CapacityRequestPolicy) (resource.Quantity, error) {
	if policy == nil {
		return amount, nil
	}
	r := policy.ValidRange
	switch {
	case r != nil && r.Min == nil && r.Step != nil:
		return amount, errors.New("requestPolicy.validRange.step needs validRange.min")
	case r != nil && r.Min != nil && amount.Cmp(*r.Min) < 0:
		return *r.Min, nil
	case r != nil && r.Min != nil && r.Step == nil:
		return amount, nil
	case r != nil && r.Min != nil:
		return u.toStep(amount, r)
	}
	for _, value := range policy.ValidValues {
		if value.Cmp(amount) >= 0 {
			return value, nil
		}
	}
	return amount, nil
}

// toStep returns the smallest amount of the steps after min that is not less than a request of min or more. A step of 0, which is also
// what Value makes of an amount such as 20E, is no step; kube-scheduler panics there.
func (u units) toStep(amount resource.Quantity, r *resourcev1.CapacityRequestPolicyRange) (resource.Quantity, error) {
	low, step := u.of(r.Min), u.of(r.Step)
	if u.exact {
		switch {
		case u.milli && !inMilli(&amount):
			return amount, unrepresentable("request %s is not a representable milli value", &amount)
		case !u.milli && amount.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) > 0:
			return amount, unrepresentable("request %s exceeds MaxInt64", &amount)
		}
	}
	if step == 0 {
		return amount, nil
	}
	distance := u.of(&amount) - low
	steps := distance / step
	if distance%step != 0 {
		steps++
	}
	if !u.exact {
		return *resource.NewQuantity(low+step*steps, resource.BinarySI), nil
	}
	switch most := (math.MaxInt64 - low) / step; { // wraps around for a low below 0
	case u.milli && steps > most:
		return amount, unrepresentable("rounding request %s up to the next step passes the milli-value range", &amount)
	case !u.milli && low >= 0 && steps > most:
		return amount, unrepresentable("rounding request %s up to the next step passes MaxInt64", &amount)
	case u.milli:
		return *resource.NewMilliQuantity(low+step*steps, r.Step.Format), nil
	}
	return *resource.NewQuantity(low+step*steps, r.Step.Format), nil
}

func unrepresentable(format string, amount *resource.Quantity) error {
	return fmt.Errorf("capacity request cannot be represented in the device's range arithmetic: "+format, amount)
}

// permitted reports whether a policy allows an amount.
func (u units) permitted(amount resource.Quantity, policy *resourcev1.CapacityRequestPolicy) bool {
	if policy == nil || policy.Default != nil && amount.Cmp(*policy.Default) == 0 {
		return true
	}
	if r := policy.ValidRange; r != nil {
		if r.Max != nil && amount.Cmp(*r.Max) > 0 {
			return false
		}
		if r.Step == nil || r.Min == nil || u.of(r.Step) == 0 {
			return true
		}
		return (!u.milli || inMilli(&amount)) && (u.of(&amount)-u.of(r.Min))%u.of(r.Step) == 0
	}
	if len(policy.ValidValues) == 0 {
		return true
	}
	for _, value := range policy.ValidValues {
		if value.Cmp(amount) == 0 {
			return true
		}
	}
	return false
}
