package check

import (
	"errors"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// input is a cluster, ready to be asked.
type input struct {
	objects  *dump.Objects
	snapshot *cluster.Snapshot
	profile  placement.Profile
	plan     *placement.Plan
	asked    *v1.Pod // the pod of -spread; nil without
}

func load(o options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	in := &input{objects: objects}
	var names []string
	for _, p := range objects.Pods {
		names = append(names, dump.Name(p))
		if dump.Name(p) == o.spread {
			in.asked = p
		}
	}
	if o.spread != "" && in.asked == nil {
		return nil, fmt.Errorf("-spread: Not found: %q: no pod of that namespace and name%s", o.spread, program.Near(o.spread, names))
	}
	_ = objects.Orphans("left out") // the error is one of the warnings
	objects.Absent(dump.Asks{Placed: func(p *v1.Pod) bool { return p == in.asked && o.place > 0 }, Namespaces: true})
	if texts := objects.Warnings.Texts(); o.Input.Strict && len(texts) > 0 {
		return nil, errors.New(texts[0])
	}
	if in.snapshot, err = cluster.New(objects.Cluster()); err != nil {
		return nil, err
	}
	if o.place > 0 {
		if err := in.keepTemplates(); err != nil {
			return nil, err
		}
	}
	in.profile = placement.PluginArgs{Devices: tracker.Options{Compiler: cel.NewCompiler(), Templates: o.place > 0}}.Profile()
	in.plan, err = placement.New(in.snapshot, in.profile)
	return in, err
}

// ownerOf returns the controller of a pod, "" without one.
func ownerOf(p *v1.Pod) string {
	if c := metav1.GetControllerOf(p); c != nil {
		return c.Kind + " " + p.Namespace + "/" + c.Name
	}
	return ""
}

// running reports whether a pod runs on a node and stays there.
func running(p *v1.Pod) bool {
	return p.Spec.NodeName != "" && !cluster.Finished(p) && p.DeletionTimestamp == nil
}
