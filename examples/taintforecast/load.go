package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/examples/dump"
)

// script is the file of -events.
type script struct {
	Events []taint.Event `json:"events"`
}

// load reads cluster and events.
func load(o options, stdin io.Reader) (in taint.Input, warnings []string, err error) {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return in, nil, err
	}
	var s script
	unknown, err := dump.ReadFile(o.events, stdin, &s, o.input)
	switch {
	case err != nil:
		return in, nil, err
	case len(unknown) > 0:
		return in, nil, errors.New(unknown[0])
	}
	if bad := taint.ValidateEvents(s.Events, objects.Nodes, field.NewPath("events")); len(bad) > 0 {
		return in, nil, fmt.Errorf("%s: %w", o.events, bad[0])
	}
	in = taint.Input{Nodes: objects.Nodes, Events: s.Events, Until: o.until, Config: o.config}
	if o.until < 0 {
		if in.Until = lastEvent(s.Events) + 10*time.Minute; in.Until > longest {
			return in, nil, fmt.Errorf("%s: events: Invalid value: %q: the last one must be at least 10m before %v", o.events, lastEvent(s.Events), longest)
		}
	}
	warnings = objects.Warnings
	known := map[string]bool{}
	for _, n := range objects.Nodes {
		known[n.Name] = true
	}
	for _, p := range objects.Pods {
		switch {
		case p.Spec.NodeName == "":
			continue
		case !known[p.Spec.NodeName]:
			warnings = append(warnings, fmt.Sprintf("pod %s/%s: spec.nodeName: Invalid value: %q: no such node in the input; the pod takes no part", p.Namespace, p.Name, p.Spec.NodeName))
			continue
		case o.admit:
			p = admission.WithDefaultSeconds(p, admission.DefaultSeconds{})
		}
		in.Pods = append(in.Pods, p)
	}
	if o.strict && len(warnings) > 0 {
		return in, nil, errors.New(warnings[0])
	}
	return in, warnings, nil
}

func lastEvent(events []taint.Event) (last time.Duration) {
	for _, e := range events {
		last = max(last, e.At.Duration)
	}
	return last
}
