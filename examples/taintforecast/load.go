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
	"github.com/podberth/podberth/examples/report"
)

// script is the file of -events.
type script struct {
	Events []taint.Event `json:"events"`
}

// load reads cluster and events.
func load(o options, stdin io.Reader) (in taint.Input, warnings report.Warnings, err error) {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return in, warnings, err
	}
	var s script
	unknown, err := dump.ReadFile(o.events, stdin, &s, o.input)
	switch {
	case err != nil:
		return in, warnings, err
	case len(unknown) > 0:
		return in, warnings, errors.New(unknown[0])
	}
	if bad := taint.ValidateEvents(s.Events, objects.Nodes, field.NewPath("events")); len(bad) > 0 {
		return in, warnings, fmt.Errorf("%s: %w", o.events, bad[0])
	}
	in = taint.Input{Nodes: objects.Nodes, Events: s.Events, Until: o.until, Config: o.config}
	if o.until < 0 {
		if in.Until = lastEvent(s.Events) + 10*time.Minute; in.Until > longest {
			return in, warnings, fmt.Errorf("%s: events: Invalid value: %q: the last one must be at least 10m before %v", o.events, lastEvent(s.Events), longest)
		}
	}
	_ = objects.Orphans("left out of the forecast") // the error is one of the warnings
	warnings = objects.Warnings
	if texts := warnings.Texts(); o.strict && len(texts) > 0 {
		return in, warnings, errors.New(texts[0])
	}
	known := map[string]bool{}
	for _, n := range objects.Nodes {
		known[n.Name] = true
	}
	for _, p := range objects.Pods {
		switch {
		case !known[p.Spec.NodeName]:
			continue
		case o.admit:
			p = admission.WithDefaultSeconds(p, admission.DefaultSeconds{})
		}
		in.Pods = append(in.Pods, p)
	}
	return in, warnings, nil
}

func lastEvent(events []taint.Event) (last time.Duration) {
	for _, e := range events {
		last = max(last, e.At.Duration)
	}
	return last
}
