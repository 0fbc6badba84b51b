package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// counterID names one counter of a pool.
type counterID struct{ set, name string }

type counter struct{ value resource.Quantity }

// available returns the counters of a pool that the allocations of the cluster leave (rule U7.5). Counters may be negative.
// A device in two slices is counted twice, as in v1.37.2; such a pool is invalid on the nodes that see both slices.
func (p *pool) available(l *Ledger) map[counterID]counter {
	left := make(map[counterID]counter, len(p.sets))
	for id, c := range p.sets {
		left[id] = counter{c.value.DeepCopy()}
	}
	for _, s := range p.all {
		if s.counters {
			continue
		}
		for k := range s.devices {
			d := &s.devices[k]
			if !l.allocated(d.index) {
				continue
			}
			eachCounter(d.object, func(id counterID, amount resource.Quantity) {
				if c, ok := left[id]; ok {
					c.value.Sub(amount)
					left[id] = c
				}
			})
		}
	}
	return left
}

func eachCounter(d *resourcev1.Device, yield func(counterID, resource.Quantity)) {
	for _, use := range d.ConsumesCounters {
		for name, c := range use.Counters {
			yield(counterID{use.CounterSet, name}, c.Value)
		}
	}
}

// counterPool returns the pool whose counters a device uses: the pool with this name of any driver, as up to v1.36 (quirk
// U10.2), or of the device's driver.
func (s *Search) counterPool(p *pool) poolKey {
	if s.options.CountersByDriver {
		return p.key
	}
	return poolKey{pool: p.key.pool}
}

// charge takes a device's counters for this search and reports whether the pool has enough of all of them. If not, charge
// takes nothing. paid is true when refund must be called once the device is given back.
func (s *Search) charge(p *pool, d *device) (ok, paid bool) {
	if len(d.object.ConsumesCounters) == 0 {
		return true, false
	}
	if d.shares && (s.ledger.measured[d.index] > 0 || s.options.CountersOnce && s.ledger.shares[d.index] > 0 || s.shared(d)) {
		return true, false
	}
	key := s.counterPool(p)
	left, ok := s.left[key]
	if !ok {
		left = p.available(s.ledger)
		s.left[key] = left
	}
	spent := s.spent[key]
	if spent == nil {
		spent = map[counterID]counter{}
		if s.spent == nil {
			s.spent = map[poolKey]map[counterID]counter{}
		}
		s.spent[key] = spent
	}
	s.bound.steps += len(left) / comparedCounters
	eachCounter(d.object, func(id counterID, amount resource.Quantity) {
		c := spent[id]
		c.value.Add(amount)
		spent[id] = c
	})
	for id, have := range left {
		if c, used := spent[id]; used && have.value.Cmp(c.value) < 0 || !used && have.value.Sign() < 0 {
			s.refund(p, d)
			return false, false
		}
	}
	return true, true
}

// refund gives back the counters that charge took.
func (s *Search) refund(p *pool, d *device) {
	spent := s.spent[s.counterPool(p)]
	eachCounter(d.object, func(id counterID, amount resource.Quantity) {
		c := spent[id]
		c.value.Sub(amount)
		spent[id] = c
	})
}
