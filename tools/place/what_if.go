package place

import (
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints/edit"
	"github.com/podberth/podberth/tools/dump"
)

// change makes the changes to the input that -cordon, -taint and -add ask for, and returns the pods of added workloads.
func (o options) change(objects *dump.Objects, stdin io.Reader) (made []*v1.Pod, err error) {
	for _, name := range o.cordon {
		n, err := nodeOf(objects, "-cordon", name)
		if err != nil {
			return nil, err
		}
		n.Spec.Unschedulable = true
	}
	for _, spec := range o.taint {
		name, text, _ := strings.Cut(spec, ":")
		n, err := nodeOf(objects, "-taint", name)
		if err != nil {
			return nil, err
		}
		t, removal, err := edit.ParseOne(text)
		if err != nil || removal {
			return nil, fmt.Errorf("-taint: Invalid value: %q: must be NODE:KEY=VALUE:EFFECT", spec)
		}
		n.Spec.Taints = append(n.Spec.Taints, t)
	}
	if len(o.add) == 0 {
		return nil, nil
	}
	more, err := dump.Read(o.add, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	if made, err = objects.Add(more, o.count); err != nil {
		return nil, fmt.Errorf("-add: %w", err)
	}
	return made, nil
}

func nodeOf(objects *dump.Objects, flag, name string) (*v1.Node, error) {
	for _, n := range objects.Nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: Not found: %q: no node of that name in the input", flag, name)
}
