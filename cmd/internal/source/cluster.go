package source

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/podberth/podberth/cmd/internal/command"
)

// Cluster is the cluster of a kubeconfig context. It connects with the first request.
type Cluster struct {
	kube    *genericclioptions.ConfigFlags
	partial bool
	made    *client
}

// New returns the cluster that kubectl would ask.
func New() *Cluster {
	all := genericclioptions.NewConfigFlags(true)
	return &Cluster{kube: &genericclioptions.ConfigFlags{
		KubeConfig: all.KubeConfig, Context: all.Context, Namespace: all.Namespace, Timeout: all.Timeout,
		Impersonate: all.Impersonate, ImpersonateGroup: all.ImpersonateGroup,
	}}
}

// usage has the flags of kubectl in few words.
var usage = map[string]string{
	"kubeconfig": "`FILE` with the kubeconfig", "context": "`NAME` of the kubeconfig context", "as": "impersonate this `USER`",
	"as-group": "impersonate this `GROUP`, repeatable", "request-timeout": "wait so long for a request, a `DURATION`; 0: for ever",
}

// Flags adds the flags about the cluster that kubectl has too, and --partial.
func (c *Cluster) Flags(f *pflag.FlagSet) {
	namespace := c.kube.Namespace
	c.kube.Namespace = nil // commands have that flag without a cluster too
	c.kube.AddFlags(f)
	c.kube.Namespace = namespace
	for flag, text := range usage {
		f.Lookup(flag).Usage = text
	}
	f.BoolVar(&c.partial, "partial", false, "leave out what this user may not list, with a warning")
}

// Namespace returns the given namespace, or that of the context.
func (c *Cluster) Namespace(given string) (string, error) {
	*c.kube.Namespace = given
	of, _, err := c.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("%w; kubectl config get-contexts lists the contexts, and -f PATH reads a dump in place of the cluster", err)
	}
	return of, nil
}

// Read lists what is needed of the cluster.
func (c *Cluster) Read(ctx context.Context, need command.Need, progress io.Writer) (dump io.Reader, warnings []string, err error) {
	client, err := c.client()
	if err != nil {
		return nil, nil, err
	}
	if need.MaxSize > 0 {
		client.left.Store(need.MaxSize)
	}
	return client.read(ctx, need, c.partial, progress)
}

// Names lists the names of a kind, at most a page.
func (c *Cluster) Names(ctx context.Context, of command.Kind, namespace string) ([]string, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	if of == command.Nodes {
		return client.names(ctx, nodes, "")
	}
	return client.names(ctx, pods, namespace)
}

// client returns the client, the same one each time.
func (c *Cluster) client() (*client, error) {
	if c.made != nil {
		return c.made, nil
	}
	config, err := c.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("%w; -f PATH reads a dump in place of the cluster", err)
	}
	c.made, err = newClient(config)
	return c.made, err
}
