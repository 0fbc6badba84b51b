package main

import (
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/taints/edit"
)

// change makes the changes to the input that -cordon, -taint and -add ask for.
func (o options) change(objects *dump.Objects, stdin io.Reader) error {
	for _, name := range o.cordon {
		n, err := nodeOf(objects, "-cordon", name)
		if err != nil {
			return err
		}
		n.Spec.Unschedulable = true
	}
	for _, spec := range o.taint {
		name, text, _ := strings.Cut(spec, ":")
		n, err := nodeOf(objects, "-taint", name)
		if err != nil {
			return err
		}
		t, removal, err := edit.ParseOne(text)
		if err != nil || removal {
			return fmt.Errorf("-taint: Invalid value: %q: must be NODE:KEY=VALUE:EFFECT", spec)
		}
		n.Spec.Taints = append(n.Spec.Taints, t)
	}
	if len(o.add) == 0 {
		return nil
	}
	more, err := dump.Read(o.add, stdin, o.input)
	if err != nil {
		return err
	}
	have := map[string]bool{} // names of nodes, and of pods with their namespaces
	for _, n := range objects.Nodes {
		have[n.Name] = true
	}
	for _, p := range objects.Pods {
		have[key(p)] = true
	}
	for _, n := range more.Nodes {
		for _, c := range copies(n, o.count, (*v1.Node).DeepCopy, func(c *v1.Node, name string) {
			if c.Labels[v1.LabelHostname] == c.Name {
				c.Labels[v1.LabelHostname] = name
			}
			c.Name = name
		}) {
			if have[c.Name] {
				return fmt.Errorf("-add: metadata.name: Duplicate value: %q: the input has a Node of that name", c.Name)
			}
			have[c.Name] = true
			objects.Nodes = append(objects.Nodes, c)
		}
	}
	for _, p := range more.Pods {
		for _, c := range copies(p, o.count, (*v1.Pod).DeepCopy, func(c *v1.Pod, name string) { c.Name, c.UID = name, types.UID("") }) {
			if have[key(c)] {
				return fmt.Errorf("-add: metadata.name: Duplicate value: %q: the input has a Pod of that name", key(c))
			}
			have[key(c)] = true
			objects.Pods = append(objects.Pods, c)
		}
	}
	objects.Warnings.Append(more.Warnings)
	return nil
}

// copies returns n copies of an object, numbered from 1 unless there is only one.
func copies[T interface{ GetName() string }](object T, n int, clone func(T) T, rename func(c T, name string)) []T {
	out := make([]T, n)
	for k := range out {
		out[k] = clone(object)
		if n > 1 {
			rename(out[k], fmt.Sprintf("%s-%d", object.GetName(), k+1))
		}
	}
	return out
}

func nodeOf(objects *dump.Objects, flag, name string) (*v1.Node, error) {
	for _, n := range objects.Nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: Not found: %q: no node of that name in the input", flag, name)
}
