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

	"github.com/podberth/podberth/examples/report"
	"github.com/podberth/podberth/examples/shell"
)

const (
	// JSON is what Get accepts of most paths.
	JSON    = "application/json"
	asNames = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	page    = 500 // objects that the server returns at a time
)

// seen is what decides which kinds are read after the first.
type seen struct {
	count            map[string]int
	volumes, devices bool // a pod has volumes that storage decides about, or resource claims
}

// Options change how Read reads.
type Options struct {
	// Partial leaves out kinds that may not be listed, except pods and nodes. Without it they are an error.
	Partial bool
	// Progress gets how far the work is when it takes more than a second.
	Progress io.Writer
}

// Read lists what a question needs and returns it as a stream of JSON lists. The texts are warnings about kinds that were left out.
// A kind that the server does not have is empty.
func Read(ctx context.Context, c *Client, need Need, o Options) (dump io.Reader, warnings []string, err error) {
	r := &reader{c: c, need: need, progress: report.NewProgress(o.Progress, "reading the cluster", "objects", nil), seen: seen{count: map[string]int{}}}
	defer func() { r.progress.End() }()
	if err := r.all(ctx, need.first()); err != nil {
		return nil, nil, err
	}
	if err := r.all(ctx, need.second(r.seen)); err != nil {
		return nil, nil, err
	}
	switch {
	case len(r.missing) == 0:
	case !o.Partial || r.lacks(Pods) || r.lacks(Nodes):
		return nil, nil, r.refusal()
	default:
		warnings = append(warnings, fmt.Sprintf("this user may not list %s; the answer is that of a cluster without them", r.names()))
	}
	if need.Stats || need.Settings {
		r.progress.End()
		r.progress = report.NewProgress(o.Progress, "asking the kubelets", "kubelets", nil)
		more, err := r.kubelets(ctx)
		if err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, more...)
	}
	return io.MultiReader(r.pages...), warnings, nil
}

type reader struct {
	c       *Client
	need    Need
	seen    seen
	pages   []io.Reader
	objects int
	nodes   []string
	missing []Kind

	progress *report.Progress
}

func (r *reader) all(ctx context.Context, kinds []Kind) error {
	for _, k := range kinds {
		err := r.list(ctx, k)
		switch {
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
func (r *reader) list(ctx context.Context, k Kind) error {
	query := url.Values{"limit": {strconv.Itoa(page)}}
	if r.need.Node != "" {
		switch k {
		case Nodes:
			query.Set("fieldSelector", "metadata.name="+r.need.Node)
		case Pods:
			query.Set("fieldSelector", "spec.nodeName="+r.need.Node)
		}
	}
	begin, objects, nodes := len(r.pages), r.objects, len(r.nodes)
	for {
		data, err := r.c.Get(ctx, k.path(), query, JSON)
		if gone(err) && query.Get("continue") != "" { // the pages are too old for the server: begin again without pages
			r.pages, r.objects, r.nodes = r.pages[:begin], objects, r.nodes[:nodes]
			query.Del("continue")
			query.Del("limit")
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
		if k == Nodes {
			for _, n := range list.Items {
				r.nodes = append(r.nodes, n.Metadata.Name)
			}
		}
		if k == Pods {
			for _, p := range list.Items {
				r.seen.volumes = r.seen.volumes || p.stored()
				r.seen.devices = r.seen.devices || len(p.Spec.ResourceClaims) > 0
			}
		}
		r.progress.Step(r.objects, r.objects+list.Metadata.RemainingItemCount)
		if list.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", list.Metadata.Continue)
	}
}

func gone(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusGone
}

// item is what Read reads of an object.
type item struct {
	Metadata struct{ Name string }
	Spec     struct {
		Volumes        []map[string]json.RawMessage
		ResourceClaims []json.RawMessage
	}
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

func (r *reader) lacks(k Kind) bool {
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
	if r.lacks(Pods) || r.lacks(Nodes) {
		advice = "; or ask of a dump: -f PATH"
	}
	create := "kubectl create clusterrole podberth --verb=list --resource=" + shell.Words(strings.ReplaceAll(r.names(), ", ", ","))
	return fmt.Errorf("this user may not list %s in all namespaces: %s, and bind it to the user%s", r.names(), create, advice)
}

// Names returns the names of the objects of a kind, at most a page: in all namespaces as NAMESPACE/NAME, or in one as NAME.
func Names(ctx context.Context, c *Client, k Kind, namespace string) ([]string, error) {
	path := k.path()
	if namespace != "" {
		path = strings.TrimSuffix(path, k.Resource) + "namespaces/" + url.PathEscape(namespace) + "/" + k.Resource
	}
	data, err := c.Get(ctx, path, url.Values{"limit": {strconv.Itoa(page)}}, asNames)
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
