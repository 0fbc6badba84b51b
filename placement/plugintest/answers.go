package plugintest

import (
	"bytes"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
)

// answers are all answers of a plugin about one pod.
type answers struct {
	all       string   // before any node, and about every node
	node      []string // about each slot
	weighs    bool     // the scores depend on which nodes are feasible
	described []described
}

// described is what a predicate or scorer of KeepByNode says that it reads of nodes, with its answers.
type described struct {
	what, method string
	signature    func(dst []int32, i int) []int32 // nil: reads
	reads        []string
	answers      []string
}

// same reports whether the node and its copy are equal by this description.
func (d *described) same(c *checker) bool {
	if d.signature != nil {
		return slices.Equal(d.signature(nil, c.node0), d.signature(nil, c.twin))
	}
	ids, _, ok := c.cluster.Classes(d.reads)
	return ok && ids[c.node0] == ids[c.twin]
}

// describe adds the description of x, which has answered.
func (a *answers) describe(p *placement.Plugin, what string, x any, list []string) {
	if p.Keep != placement.KeepByNode {
		return
	}
	if s, ok := x.(interface {
		AppendSignature(dst []int32, i int) []int32
	}); ok {
		a.described = append(a.described, described{what: what, method: "AppendSignature", signature: s.AppendSignature, answers: list})
	}
	if r, ok := x.(interface{ Reads(dst []string) []string }); ok {
		a.described = append(a.described, described{what: what, method: "Reads", reads: r.Reads(nil), answers: list})
	}
}

// answers asks the plugin everything about a pod.
func (c *checker) answers(pod *v1.Pod) answers {
	p, n := c.plugin, c.cluster.Len()
	a := answers{node: make([]string, n)}
	if p.Filter != nil {
		f := p.Filter(pod, c.cluster)
		a.all = fmt.Sprint(f.Code, f.Reasons, f.Nodes)
		if f.Predicate != nil && f.Code == filter.Success {
			list := make([]string, n)
			for i := range n {
				if v := f.Predicate.Check(i); v != 0 {
					list[i] = fmt.Sprint(v, f.Predicate.Reasons(v))
				}
				a.node[i] += list[i]
			}
			a.describe(p, "predicate", f.Predicate, list)
		}
	}
	if p.Score != nil {
		s, err := p.Score(pod, c.cluster)
		a.all += fmt.Sprint(s == nil, err)
		if s != nil && err == nil {
			list, slots := make([]string, n), make([]int32, n)
			for i := range n {
				slots[i] = int32(i)
			}
			if w, ok := s.(placement.Weigher); ok {
				a.weighs = true
				w.Weigh(slots, nil)
			}
			for i := range n {
				list[i] = fmt.Sprint(" ", s.Raw(i))
				a.node[i] += list[i]
			}
			a.describe(p, "scorer", s, list)
		}
	}
	a.all += fmt.Sprint(a.node)
	return a
}

// key is what a function of the plugin appends for a pod.
type key struct {
	name string
	key  []byte
	err  error
}

// keys returns the keys of a pod.
func (c *checker) keys(pod *v1.Pod) (out []key) {
	p := c.plugin
	add := func(name string, write func(dst []byte) []byte) {
		whole := write([]byte("before"))
		x := key{name: name, key: bytes.TrimPrefix(whole, []byte("before"))}
		if !bytes.HasPrefix(whole, []byte("before")) {
			x.err = fmt.Errorf("%s must append to the bytes that it gets", name)
		}
		out = append(out, x)
	}
	if p.AppendKey == nil {
		return nil
	}
	add("AppendKey", func(dst []byte) []byte { return p.AppendKey(dst, pod) })
	if p.AppendRowKey != nil {
		add("AppendRowKey", func(dst []byte) []byte { return p.AppendRowKey(dst, pod, c.cluster) })
	}
	if p.AppendSharedKey != nil {
		alike := true
		add("AppendSharedKey", func(dst []byte) (key []byte) {
			key, alike = p.AppendSharedKey(dst, pod)
			return key
		})
		if !alike {
			out = out[:len(out)-1]
		}
	}
	if p.KeyParts != nil {
		add("KeyParts", func(dst []byte) []byte {
			for _, x := range p.KeyParts {
				dst = x.Append(dst, pod)
			}
			return dst
		})
		if parts := &out[len(out)-1]; parts.err == nil && !bytes.Equal(parts.key, out[0].key) {
			parts.err = fmt.Errorf("KeyParts append %q, AppendKey appends %q", parts.key, out[0].key)
		}
	}
	return out
}
