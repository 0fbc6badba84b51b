package affinity

// reads is a list of what an evaluator reads of a node, each name once. Adding a name is O(1): a long list also has a set
// of its names.
type reads struct {
	names []string
	set   map[string]struct{}
}

// longReads is the length from which the list has a set.
const longReads = 16

func (r *reads) add(name string) {
	if r.set == nil {
		for _, have := range r.names {
			if have == name {
				return
			}
		}
		r.names = append(r.names, name)
		if len(r.names) >= longReads { // from now on the set finds duplicates
			r.set = make(map[string]struct{}, 2*longReads)
			for _, have := range r.names {
				r.set[have] = struct{}{}
			}
		}
		return
	}
	if _, have := r.set[name]; !have {
		r.set[name] = struct{}{}
		r.names = append(r.names, name)
	}
}

func (r *reads) addAll(names []string) {
	for _, name := range names {
		r.add(name)
	}
}

func (r *reads) addTerm(t *nodeTerm) {
	for i := range t.exprs {
		r.add("label:" + t.exprs[i].key)
	}
	if len(t.fields) > 0 {
		r.add("name")
	}
}
