package httpextender

import (
	"context"
	"fmt"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// DefaultTimeout is the time-out of an extender whose configuration has none.
const DefaultTimeout = 5 * time.Second

// DefaultAnswerLimit is the largest answer in bytes when [Options] has no limit: 256 MiB.
const DefaultAnswerLimit = 256 << 20

// Verb is a function that an extender may offer.
type Verb string

// The verbs of extenders.
const (
	Filter     Verb = "filter"
	Prioritize Verb = "prioritize"
	Preempt    Verb = "preempt"
	Bind       Verb = "bind"
)

// Extender is what a scheduler needs of an extender. *Client implements it.
type Extender interface {
	// Name is the extender's URL.
	Name() string
	// Offers reports whether the extender has a verb.
	Offers(Verb) bool
	// Interested reports whether the extender is asked about a pod.
	Interested(*v1.Pod) bool
	// Ignorable reports whether failures of the extender are ignored.
	Ignorable() bool
	// Filter returns which of the nodes stay.
	Filter(context.Context, *v1.Pod, []*v1.Node) (Answer, error)
	// Prioritize scores nodes.
	Prioritize(context.Context, *v1.Pod, []*v1.Node) (score.Column, error)
	// Preempt shows the victims by node name and returns the victims that stay.
	Preempt(context.Context, *v1.Pod, map[string]Victims) (map[string]MetaVictims, error)
	// Bind binds a pod to a node.
	Bind(ctx context.Context, pod *v1.Pod, node string) error
}

// Options select behaviour of v1.37 that is unsafe. The zero value is safe; [AsKubeScheduler] returns the options of v1.37.
type Options struct {
	// AnswerLimit is the largest answer in bytes; a longer answer is a failure. 0 means DefaultAnswerLimit. A negative
	// number means no limit, as in v1.37.
	AnswerLimit int64
	// OtherHosts follows a redirect to another scheme, host or port, as v1.37 does. By default such a redirect is a failure.
	OtherHosts bool
	// NegativeTimeout accepts a negative httpTimeout, which v1.37 treats as no time-out. By default New refuses it.
	NegativeTimeout bool
	// TrailingData accepts data after the JSON value of an answer, as v1.37 does. By default such an answer is a failure.
	TrailingData bool
	// StrictScores makes an answer to Prioritize a failure when it names a host twice, names a host that was not in the
	// request, or has a score outside 0 to 10. By default all scores count as in v1.37: a host that is named twice gets
	// both scores, and the range is not checked.
	StrictScores bool
	// ReplaceView uses the node objects of an answer as they are, as v1.37 does with extenders that are not
	// nodeCacheCapable. Nobody checks that they were in the request, and a scheduler that continues with them sees nodes
	// without pods, requests and images (Answer.Objects). By default an answer is mapped back by name, and a node that was
	// not in the request is an error in both forms.
	ReplaceView bool
	// Transport carries the requests; nil makes one with the TLS settings of the configuration.
	Transport http.RoundTripper
}

// AsKubeScheduler returns the options with which a client does everything as v1.37 does.
func AsKubeScheduler() Options {
	return Options{AnswerLimit: -1, OtherHosts: true, NegativeTimeout: true, TrailingData: true, ReplaceView: true}
}

// Client asks one extender. It is safe for concurrent use.
type Client struct {
	config  configv1.Extender
	rules   rules.Extender
	http    *http.Client
	options Options
}

var _ Extender = (*Client)(nil)

// New returns a client for an extender of a configuration. The error is about a negative httpTimeout or about the TLS
// settings: files that cannot be read, data that are not certificates, a root certificate together with insecure.
func New(x configv1.Extender, o Options) (*Client, error) {
	if x.HTTPTimeout.Duration < 0 && !o.NegativeTimeout {
		return nil, field.Invalid(field.NewPath("httpTimeout"), x.HTTPTimeout.Duration.String(), "must be greater than or equal to 0")
	}
	transport := o.Transport
	if transport == nil {
		t, err := transportOf(&x)
		if err != nil {
			return nil, err
		}
		transport = t
	}
	timeout := x.HTTPTimeout.Duration
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	c := &Client{
		config: *x.DeepCopy(), rules: rules.Of(&x), options: o,
		http: &http.Client{Transport: transport, Timeout: timeout},
	}
	if !o.OtherHosts {
		c.http.CheckRedirect = sameHost
	}
	return c, nil
}

// NewAll returns clients for all extenders of a configuration in the order in which they are asked: the ignorable ones last.
func NewAll(list []configv1.Extender, o Options) ([]*Client, error) {
	known := make([]rules.Extender, len(list))
	for k := range list {
		known[k] = rules.Of(&list[k])
	}
	clients := make([]*Client, 0, len(list))
	for _, k := range rules.Order(known) {
		c, err := New(list[k], o)
		if err != nil {
			return nil, fmt.Errorf("couldn't build extenders: %w", err)
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// Name returns the URL prefix as it is configured.
func (c *Client) Name() string { return c.config.URLPrefix }

// Ignorable reports whether failures of the extender are ignored.
func (c *Client) Ignorable() bool { return c.config.Ignorable }

// Interested reports whether the extender manages no particular resources, or a resource that the pod names. A nil pod is
// an empty pod.
func (c *Client) Interested(pod *v1.Pod) bool { return c.rules.Interested(pod) }

// Offers reports whether a verb is configured.
func (c *Client) Offers(v Verb) bool { return c.verb(v) != "" }

func (c *Client) verb(v Verb) string {
	switch v {
	case Filter:
		return c.config.FilterVerb
	case Prioritize:
		return c.config.PrioritizeVerb
	case Preempt:
		return c.config.PreemptVerb
	case Bind:
		return c.config.BindVerb
	}
	return ""
}

// args returns the pod and the nodes in the form that the extender takes.
func (c *Client) args(pod *v1.Pod, nodes []*v1.Node) *extenderv1.ExtenderArgs {
	a := &extenderv1.ExtenderArgs{Pod: pod}
	if c.config.NodeCacheCapable {
		names := namesOf(nodes)
		a.NodeNames = &names
		return a
	}
	a.Nodes = &v1.NodeList{Items: make([]v1.Node, len(nodes))}
	for k, n := range nodes {
		a.Nodes.Items[k] = *n
	}
	return a
}

func namesOf(nodes []*v1.Node) []string {
	names := make([]string, len(nodes))
	for k, n := range nodes {
		names[k] = n.Name
	}
	return names
}
