package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/podberth/podberth/cmd/internal/command"
	"github.com/podberth/podberth/tools/report"
	"github.com/podberth/podberth/tools/shell"
)

const (
	asJSON  = "application/json" // what is accepted of most paths
	asNames = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	page    = 500 // objects that the server returns at a time
)

// seen is what decides which kinds are read after the first.
type seen struct {
	count            map[string]int
	volumes, devices bool // a pod has volumes that storage decides about, or resource claims
	groups           bool // a pod has a group
	pooled           bool // a node is of a NodePool
}

// read lists what a question needs and returns it as a stream of JSON lists. The texts are warnings about kinds that were left out.
// A kind that the server does not have is empty. partial leaves out kinds that may not be listed, except pods and nodes; without it
// they are an error. progress gets how far the work is when it takes more than a second.
func (c *client) read(ctx context.Context, need command.Need, partial bool, progress io.Writer) (dump io.Reader, warnings []string, err error) {
	r := &reader{c: c, need: need, progress: report.NewProgress(progress, "reading the cluster", "objects", nil), seen: seen{count: map[string]int{}}}
	defer func() { r.progress.End() }()
	if err := r.all(ctx, first(need)); err != nil {
		return nil, nil, err
	}
	if err := r.all(ctx, second(need, r.seen)); err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, r.notes...)
	switch {
	case len(r.missing) == 0:
	case !partial || r.lacks(pods) || r.lacks(nodes):
		return nil, nil, r.refusal()
	default:
		warnings = append(warnings, fmt.Sprintf("this user may not list %s; the answer is that of a cluster without them", r.names()))
	}
	if need.Stats || need.Settings {
		r.progress.End()
		r.progress = report.NewProgress(progress, "asking the kubelets", "kubelets", nil)
		more, err := r.kubelets(ctx)
		if err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, more...)
	}
	return io.MultiReader(r.pages...), warnings, nil
}

type reader struct {
	c       *client
	need    command.Need
	seen    seen
	pages   []io.Reader
	objects int
	nodes   []string
	missing []kind
	notes   []string

	progress *report.Progress
}

func (r *reader) all(ctx context.Context, kinds []kind) error {
	for _, k := range kinds {
		err := r.list(ctx, k)
		switch {
		case forbidden(err) && k == nodePools:
			r.notes = append(r.notes, fmt.Sprintf("this user may not list %s: startupTaints are taken for taints of pools", k))
		case forbidden(err):
			r.missing = append(r.missing, k)
		case unserved(err):
		case err != nil:
			return fmt.Errorf("listing %s: %w", k, err)
		}
	}
	return nil
}

// list reads all pages of a kind.
func (r *reader) list(ctx context.Context, k kind) error {
	query := url.Values{"limit": {strconv.Itoa(page)}}
	if r.need.Node != "" {
		switch k {
		case nodes:
			query.Set("fieldSelector", "metadata.name="+r.need.Node)
		case pods:
			query.Set("fieldSelector", "spec.nodeName="+r.need.Node)
		}
	}
	begin, objects, known := len(r.pages), r.objects, len(r.nodes)
	tokens := map[string]bool{}
	for {
		data, err := r.c.get(ctx, k.path(), query, asJSON)
		if gone(err) && query.Get("continue") != "" { // the pages are too old for the server: begin again without pages
			r.pages, r.objects, r.nodes = r.pages[:begin], objects, r.nodes[:known]
			query.Del("continue")
			query.Del("limit")
			clear(tokens)
			continue
		}
		if err != nil {
			return err
		}
		var list struct {
			Metadata struct {
				Continue           string
				RemainingItemCount int
			}
			Items []item
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("%s: %w", k.path(), err)
		}
		r.pages = append(r.pages, bytes.NewReader(data), strings.NewReader("\n"))
		r.objects += len(list.Items)
		r.seen.count[k.Resource] += len(list.Items)
		if k == nodes {
			for _, n := range list.Items {
				r.nodes = append(r.nodes, n.Metadata.Name)
				_, pooled := n.Metadata.Labels["karpenter.sh/nodepool"]
				r.seen.pooled = r.seen.pooled || pooled
			}
		}
		if k == pods {
			for _, p := range list.Items {
				r.seen.volumes = r.seen.volumes || p.stored()
				r.seen.groups = r.seen.groups || len(p.Spec.SchedulingGroup) > 0
				r.seen.devices = r.seen.devices || len(p.Spec.ResourceClaims) > 0 || len(p.Status.ExtendedResourceClaimStatus) > 0
			}
		}
		r.progress.Step(r.objects, r.objects+list.Metadata.RemainingItemCount)
		if list.Metadata.Continue == "" {
			return nil
		}
		if tokens[list.Metadata.Continue] {
			return fmt.Errorf("%s: the server gives the continue token of an earlier page again", k.path())
		}
		tokens[list.Metadata.Continue] = true
		query.Set("continue", list.Metadata.Continue)
	}
}

func gone(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusGone
}

// item is what read reads of an object.
type item struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Volumes         []map[string]json.RawMessage
		ResourceClaims  []json.RawMessage
		SchedulingGroup json.RawMessage
	}
	Status struct{ ExtendedResourceClaimStatus json.RawMessage }
}

// stored reports whether a pod has a volume that lives longer than the pod or is made by a driver.
func (p item) stored() bool {
	for _, v := range p.Spec.Volumes {
		for field := range v {
			switch field {
			case "name", "configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "gitRepo", "image":
			default:
				return true
			}
		}
	}
	return false
}

func (r *reader) lacks(k kind) bool {
	for _, m := range r.missing {
		if m == k {
			return true
		}
	}
	return false
}

func (r *reader) names() string {
	var names []string
	for _, k := range r.missing {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

// refusal says which permissions are missing and what to do.
func (r *reader) refusal() error {
	advice := "; --partial answers without them"
	if r.lacks(pods) || r.lacks(nodes) {
		advice = "; or ask of a dump: -f PATH"
	}
	create := "kubectl create clusterrole podberth --verb=list --resource=" + shell.Words(strings.ReplaceAll(r.names(), ", ", ","))
	return fmt.Errorf("this user may not list %s in all namespaces: %s, and bind it to the user%s", r.names(), create, advice)
}

// names returns the names of the objects of a kind, at most a page: in all namespaces as NAMESPACE/NAME, or in one as NAME.
func (c *client) names(ctx context.Context, k kind, namespace string) ([]string, error) {
	path := k.path()
	if namespace != "" {
		path = strings.TrimSuffix(path, k.Resource) + "namespaces/" + url.PathEscape(namespace) + "/" + k.Resource
	}
	data, err := c.get(ctx, path, url.Values{"limit": {strconv.Itoa(page)}}, asNames)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	var out []string
	for _, x := range list.Items {
		name := x.Metadata.Name
		if namespace == "" && x.Metadata.Namespace != "" {
			name = x.Metadata.Namespace + "/" + name
		}
		out = append(out, name)
	}
	return out, nil
}
