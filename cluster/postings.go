package cluster

import "slices"

// postings finds pod sets by a label pair. Pairs and namespaces have numbers. Each combination of a pair and a namespace
// that occurs has a list of pod sets. The list of pair 0 has every pod set of a namespace.
type postings struct {
	namespaces layered[string]
	pairs      layered[pair]
	lists      layered[uint64]
	col        column[*posting]
	nNS        int32
	nPairs     int32
	n          int
}

type pair struct{ key, value string }

type posting struct {
	own   *owner
	ids   []int32
	first [2]int32 // room for the first ids: most lists have no more
}

func (p *postings) add(own *owner, namespace string, labels map[string]string, id int32) {
	ns := p.namespaces.get(namespace)
	if ns == gone {
		ns = p.nNS
		p.nNS++
		p.namespaces.put(own, namespace, ns)
	}
	p.append(own, ns, 0, id)
	for k, v := range labels {
		n := p.pairs.get(pair{k, v})
		if n == gone {
			p.nPairs++
			n = p.nPairs
			p.pairs.put(own, pair{k, v}, n)
		}
		p.append(own, ns, n, id)
	}
}

func (p *postings) append(own *owner, ns, pair, id int32) {
	at := p.lists.get(uint64(ns)<<32 | uint64(pair))
	if at == gone {
		at = int32(p.n)
		p.n++
		p.col.grow(own, p.n)
		p.lists.put(own, uint64(ns)<<32|uint64(pair), at)
		x := &posting{own: own}
		x.ids = x.first[:0]
		*p.col.write(own, int(at)) = x
	}
	w := p.col.write(own, int(at))
	if (*w).own != own {
		*w = &posting{own: own, ids: slices.Clone((*w).ids)}
	}
	(*w).ids = append((*w).ids, id)
}

// each calls yield for the list of pod sets with the pair (key "": all) in the namespace ("": in each of them).
func (p *postings) each(namespace, key, value string, yield func(ids []int32)) {
	var n int32
	if key != "" {
		if n = p.pairs.get(pair{key, value}); n == gone {
			return
		}
	}
	if namespace != "" {
		if ns := p.namespaces.get(namespace); ns != gone {
			p.list(ns, n, yield)
		}
		return
	}
	for ns := range p.nNS {
		p.list(ns, n, yield)
	}
}

func (p *postings) list(ns, pair int32, yield func(ids []int32)) {
	if at := p.lists.get(uint64(ns)<<32 | uint64(pair)); at != gone {
		yield(p.col.at(int(at)).ids)
	}
}
