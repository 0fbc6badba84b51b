package devices

import "slices"

// maxRounds bounds how often an outlook is narrowed again after it was narrowed.
const maxRounds = 4

// narrow drops candidates that no allocation has, and returns false when there is no allocation. What it asks is necessary for an
// allocation and not sufficient.
func (s *Search) narrow(o *outlook) bool {
	for range maxRounds {
		if !s.possible(o, nil) {
			return false
		}
		changed := false
		for k := range s.claims {
			for j := range s.claims[k].constraints {
				x := &s.claims[k].constraints[j]
				if x.distinct {
					if !s.differ(o, k, x) {
						return false
					}
					continue
				}
				changed = s.keep(o, k, x) || changed
			}
		}
		if !changed {
			break
		}
	}
	return s.possible(o, nil)
}

// keep drops the candidates of a matchAttribute constraint whose value cannot be the value of all its devices. It reports whether
// there were any.
func (s *Search) keep(o *outlook, claim int, x *constraintSpec) (changed bool) {
	allowed := map[int32]bool{}
	covered := func(r *request) bool { return !o.dead[r.id] && x.covers(r) }
	s.eachRequest(claim, func(r *request) {
		for _, c := range o.candidates[r.id] {
			if value := s.allocator.valueOf(c.device, x.attribute); covered(r) && attribute(c.device, x.attribute) != nil {
				allowed[value] = false
			}
		}
	})
	for value := range allowed {
		allowed[value] = s.possible(o, func(k int, r *request, d *device) bool {
			return k != claim || !x.covers(r) || s.allocator.valueOf(d, x.attribute) == value
		})
	}
	s.eachRequest(claim, func(r *request) {
		if !covered(r) {
			return
		}
		list := slices.DeleteFunc(slices.Clone(o.candidates[r.id]), func(c candidate) bool { return !allowed[s.allocator.valueOf(c.device, x.attribute)] })
		if len(list) < len(o.candidates[r.id]) {
			changed = true
			o.dead[r.id] = o.dead[r.id] || r.all
			o.candidates[r.id] = list
		}
	})
	return changed
}

// differ reports whether the requests of a distinctAttribute constraint can have values that differ. In v1.36 the last devices of the
// requests differ (quirk U10.4), with Options.AllDistinct all devices.
func (s *Search) differ(o *outlook, claim int, x *constraintSpec) bool {
	var list []demand
	for k := range s.claims[claim].asks {
		d := demand{need: -1}
		for j := range s.claims[claim].asks[k].alternatives {
			r := &s.claims[claim].asks[k].alternatives[j]
			if o.dead[r.id] {
				continue
			}
			need := 0
			if x.covers(r) {
				need = 1
				if s.options.AllDistinct {
					need = s.need(r)
				}
			}
			if d.need < 0 || need < d.need {
				d.need = need
			}
			for _, c := range o.candidates[r.id] {
				if attribute(c.device, x.attribute) != nil {
					d.options = append(d.options, s.allocator.valueOf(c.device, x.attribute))
				}
			}
		}
		slices.Sort(d.options)
		d.options = slices.Compact(d.options)
		list = append(list, d)
	}
	return met(list)
}

func (s *Search) eachRequest(claim int, yield func(*request)) {
	for k := range s.claims[claim].asks {
		for j := range s.claims[claim].asks[k].alternatives {
			yield(&s.claims[claim].asks[k].alternatives[j])
		}
	}
}

// possible reports whether each request can have enough devices, and all requests together too, of the candidates that allow lets
// through. A nil allow lets all through, and alternatives that cannot have enough are dead then.
func (s *Search) possible(o *outlook, allow func(claim int, r *request, d *device) bool) bool {
	var list []demand
	for k := range s.claims {
		for j := range s.claims[k].asks {
			d, admin := demand{need: -1}, false
			shared := map[int32]bool{}
			for i := range s.claims[k].asks[j].alternatives {
				r := &s.claims[k].asks[j].alternatives[i]
				if o.dead[r.id] {
					continue
				}
				some := o.candidates[r.id]
				if allow != nil {
					some = slices.DeleteFunc(slices.Clone(some), func(c candidate) bool { return !allow(k, r, c.device) })
				}
				need := s.need(r)
				if len(some) < need {
					o.dead[r.id] = o.dead[r.id] || allow == nil
					continue
				}
				if d.need < 0 || need < d.need {
					d.need = need
				}
				admin = admin || r.admin
				for _, c := range some {
					if c.device.shares {
						shared[c.device.index] = true
					} else {
						d.options = append(d.options, c.device.index)
					}
				}
			}
			if d.need < 0 {
				return false
			}
			if d.need -= len(shared); d.need <= 0 || admin { // admin access may take what other claims have
				continue
			}
			slices.Sort(d.options)
			d.options = slices.Compact(d.options)
			list = append(list, d)
		}
	}
	return met(list)
}

// demand is how many of the options one request needs.
type demand struct {
	need    int
	options []int32
}

// met reports whether all demands can be met at once, where an option serves one demand. O(needs * options).
func met(list []demand) bool {
	owner := map[int32]int{}
	var seen map[int32]bool
	var serve func(k int) bool
	serve = func(k int) bool {
		for _, x := range list[k].options {
			if seen[x] {
				continue
			}
			seen[x] = true
			if other, taken := owner[x]; taken && (other == k || !serve(other)) {
				continue
			}
			owner[x] = k
			return true
		}
		return false
	}
	for k := range list {
		for range list[k].need {
			seen = map[int32]bool{}
			if !serve(k) {
				return false
			}
		}
	}
	return true
}
