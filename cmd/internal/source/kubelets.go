package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podberth/podberth/tools/pressure"
)

const (
	atOnce     = 16               // kubelets that are asked at the same time
	perKubelet = 10 * time.Second // for an answer
)

// answer is what the kubelet of a node gives.
type answer struct {
	object          []byte // for the dump; nil when the kubelet gives nothing
	stats, settings error
}

// kubelets asks the kubelets of all nodes through the API server and adds an object for each that answers, in the order of the
// nodes. The texts are warnings: how many gave nothing, and why the first did not.
func (r *reader) kubelets(ctx context.Context) (warnings []string, err error) {
	if r.need.Node != "" && len(r.nodes) == 0 {
		return nil, fmt.Errorf("NODE: Not found: %q: the cluster has no node of that name; kubectl get nodes lists them", r.need.Node)
	}
	answers := make([]answer, len(r.nodes))
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range min(atOnce, len(r.nodes)) {
		group.Go(func() {
			for k := next.Add(1) - 1; int(k) < len(r.nodes) && ctx.Err() == nil; k = next.Add(1) - 1 {
				answers[k] = r.kubelet(ctx, r.nodes[k])
				r.progress.Step(int(done.Add(1)), len(r.nodes))
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var silent, closed []string // warnings about nodes, of which the first is printed
	for k, a := range answers {
		node := r.nodes[k]
		if a.stats != nil && r.need.Node != "" {
			return nil, fmt.Errorf("the stats of node %s: %w", node, a.stats)
		}
		if a.stats != nil {
			silent = append(silent, fmt.Sprintf("%s: %v", node, a.stats))
		}
		if a.settings != nil {
			closed = append(closed, fmt.Sprintf("%s: %v", node, a.settings))
		}
		if a.object != nil {
			r.pages = append(r.pages, bytes.NewReader(append(a.object, '\n')))
		}
	}
	for _, of := range []struct {
		what  string
		texts []string
	}{{"stats", silent}, {"configuration", closed}} {
		if len(of.texts) > 0 {
			warnings = append(warnings, fmt.Sprintf("%d of %d kubelets give no %s, the first is that of %s", len(of.texts), len(r.nodes), of.what, of.texts[0]))
		}
	}
	return warnings, nil
}

// kubelet asks the kubelet of one node.
func (r *reader) kubelet(ctx context.Context, node string) (a answer) {
	get := func(path string, wanted bool) (data []byte, err error) {
		if !wanted {
			return nil, nil
		}
		ctx, cancel := context.WithTimeout(ctx, perKubelet)
		defer cancel()
		data, err = r.c.get(ctx, "/api/v1/nodes/"+url.PathEscape(node)+"/proxy/"+path, nil, asJSON)
		if forbidden(err) {
			err = fmt.Errorf("%w; get on nodes/proxy is needed", err)
		}
		return data, err
	}
	var summary, settings []byte
	summary, a.stats = get("stats/summary", r.need.Stats)
	if _, err := pressure.Kubelet(node, summary, nil); err != nil {
		summary, a.stats = nil, err
	}
	if a.stats != nil {
		return a // a kubelet without stats is not asked for more
	}
	settings, a.settings = get("configz", r.need.Settings)
	k, err := pressure.Kubelet(node, summary, settings)
	if err != nil {
		a.settings = err
		k, err = pressure.Kubelet(node, summary, nil)
	}
	if err == nil && (k.Summary != nil || k.Configuration != nil) {
		a.object, err = json.Marshal(k)
	}
	a.stats = errors.Join(a.stats, err)
	return a
}
