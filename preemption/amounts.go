package preemption

import (
	"math"
	"slices"
	"time"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/resources"
)

// needer is the optional method of a WhatIf for preemptors of which each asks for other amounts. What they ask for is compared with what the
// pods of a slot ask for: no pod is removed from what the filters have counted.
type needer interface {
	// Needs returns what has to leave slot i: the preemptor fits on the slot without some of its pods if and only if these are at least as many
	// as pods and ask together for at least amounts[k] of columns[k], for each k. The columns are those of the schema that the WhatIf and the
	// cluster share. All numbers are between -4*maxAmount and 4*maxAmount. Needs returns false if that is not certain, for example because a pod
	// of the slot may be what a filter asks for. The slices are valid until the next call.
	Needs(i int) (pods int64, columns []int, amounts []int64, ok bool)
}

// maxAmount bounds the amounts of the pods of a slot together. Sums of so small numbers are exact.
const maxAmount = 1 << 59

// rankings keeps the pods of each slot that preemptors of one priority may remove, in the order of their importance.
type rankings struct {
	index     *index
	forgotten uint64 // of the index
	budgets   *disruption.Budgets
	toBroken  bool // chargesToBroken
	slots     [][]ranking
	pods      int // in all rankings
}

// ranking is what the preemptors whose priority is above from, and at most to, may remove from a slot.
type ranking struct {
	from, to int32
	at       uint64   // the index's changes when the ranking was made; 0: it holds for one request
	ranked   []ranked // the more important pods first
	back     []int32  // positions of the pods, in the order in which they come back
	exact    bool     // all requests are known and small
	undated  bool     // as in choice
	latest   time.Time
	choice   *choice // of the pods that are out; nil: not made
}

// ranked is a pod that may leave.
type ranked struct {
	requests resources.Vector
	violates bool
	out      bool // for the latest preemptor
}

// maxRanked bounds the pods in all rankings together. Beyond it all of them are forgotten.
const maxRanked = 1 << 18

// byAmounts returns the choice of slot i if amounts alone decide which pods leave. It returns nil if they do not, and for a slot without
// victims.
func (d *dryRun) byAmounts(i int) *choice {
	if d.needer == nil || d.index.level(i).lowest >= d.priority {
		return nil
	}
	x := d.ranking(i)
	if !x.exact || !x.holds(d.r.Now) {
		return nil
	}
	few, columns, spare, ok := d.needer.Needs(i)
	if !ok {
		return nil
	}
	few = int64(len(x.ranked)) - few
	for k, c := range columns {
		spare[k] = -spare[k]
		for p := range x.ranked {
			spare[k] += x.ranked[p].requests.At(c)
		}
		if spare[k] < 0 {
			return nil
		}
	}
	if few < 0 {
		return nil
	}
	same, any := x.choice != nil, false
	for _, k := range x.back {
		p := &x.ranked[k]
		out := few == 0 || !fits(p.requests, columns, spare)
		if !out {
			few--
			for k, c := range columns {
				spare[k] -= p.requests.At(c)
			}
		}
		any, same = any || out, same && p.out == out
		p.out = out
	}
	switch {
	case !any:
		x.choice = nil
	case !same:
		x.choice = d.chosenOf(x, i)
	}
	return x.choice
}

// fits reports whether the requests are at most spare.
func fits(requests resources.Vector, columns []int, spare []int64) bool {
	for k, c := range columns {
		if requests.At(c) > spare[k] {
			return false
		}
	}
	return true
}

// chosenOf makes the choice of the pods that are out.
func (d *dryRun) chosenOf(x *ranking, i int) *choice {
	d.units, d.members = d.units[:0], d.members[:0]
	d.collectLocal(i)
	d.sort()
	for k := range d.units {
		u := &d.units[k]
		u.out, u.violating = x.ranked[k].out, x.ranked[k].violates
		d.members[u.from].violates = u.violating
	}
	pile := d.pile
	d.pile = nil // the choice outlasts the request
	c := &choice{}
	d.choose(c, i)
	d.pile = pile
	return c
}

// ranking returns the ranking of slot i for the preemptor.
func (d *dryRun) ranking(i int) *ranking {
	list, changed := d.rankings.slots[i], d.index.changedAt(i)
	for k := range list {
		if x := &list[k]; x.from < d.priority && d.priority <= x.to && x.at > changed {
			return x
		}
	}
	list = slices.DeleteFunc(list, func(x ranking) bool {
		if x.at > changed {
			return false
		}
		d.rankings.pods -= len(x.ranked)
		return true
	})
	x := d.rank(i)
	if d.rankings.pods += len(x.ranked); d.rankings.pods > maxRanked {
		clear(d.rankings.slots)
		d.rankings.pods, list = len(x.ranked), nil
	}
	d.rankings.slots[i] = append(list, x)
	return &d.rankings.slots[i][len(list)]
}

// rank makes the ranking of slot i.
func (d *dryRun) rank(i int) ranking {
	d.units, d.members = d.units[:0], d.members[:0]
	d.collectLocal(i)
	d.sort()
	d.split()
	n := len(d.units)
	x := ranking{
		from: math.MinInt32, to: math.MaxInt32, at: d.index.changes + 1, exact: true,
		ranked: make([]ranked, n), back: make([]int32, 0, n),
	}
	for _, q := range d.index.level(i).pods {
		if q.priority < d.priority {
			x.from = max(x.from, q.priority)
		} else {
			x.to = min(x.to, q.priority)
		}
	}
	for k := range d.units {
		u := &d.units[k]
		requests, known := d.index.requests(d.members[u.from].Pod)
		x.ranked[k] = ranked{requests: requests, violates: u.violating}
		x.exact = x.exact && known && small(requests, int64(n))
	}
	for _, violating := range [...]bool{true, false} {
		for k := range d.units {
			if d.units[k].violating == violating {
				x.back = append(x.back, int32(k))
			}
		}
	}
	x.undated, x.latest = dates(d.members)
	if !x.holds(d.r.Now) {
		x.at = 0 // the order may be another one for the next request
	}
	return x
}

// holds reports whether the order is that of a request at the time, as choice.holds does.
func (x *ranking) holds(now time.Time) bool { return !x.undated || x.latest.Before(now) }

// small reports whether n times the amounts are at most maxAmount.
func small(amounts resources.Vector, n int64) bool {
	for _, v := range amounts {
		if v < 0 || v > maxAmount/n {
			return false
		}
	}
	return true
}

// rankFor makes ready what byAmounts needs. Without effect for a request for which numbers do not decide.
func (d *dryRun) rankFor() {
	d.needer = nil
	w, ok := d.r.WhatIf.(needer)
	if !ok || !d.plain() || d.index.requests == nil {
		return
	}
	x, toBroken, n := &d.rankings, chargesToBroken(d.r.Options.Release), d.r.Cluster.Len()
	if x.index != d.index || x.forgotten != d.index.forgotten || x.budgets != d.budgets || x.toBroken != toBroken || len(x.slots) != n {
		*x = rankings{index: d.index, forgotten: d.index.forgotten, budgets: d.budgets, toBroken: toBroken, slots: make([][]ranking, n)}
	}
	d.needer = w
}
