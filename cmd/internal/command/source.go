package command

import (
	"context"
	"io"

	"github.com/spf13/pflag"
)

// Source is a cluster that commands read when -f is not given.
type Source interface {
	// Flags adds the flags about the cluster.
	Flags(*pflag.FlagSet)
	// Namespace returns the namespace of names without one: the given one, or that of the context when it is "".
	Namespace(given string) (string, error)
	// Read returns what is needed as a dump, and warnings about what it leaves out. It says on progress how far it is.
	Read(ctx context.Context, need Need, progress io.Writer) (dump io.Reader, warnings []string, err error)
	// Names returns names to complete: of one namespace NAME, of all namespaces, "", NAMESPACE/NAME.
	Names(ctx context.Context, kind Kind, namespace string) ([]string, error)
}

// Kind is a kind of names that are completed.
type Kind string

// The kinds of objects that commands take as arguments.
const (
	Nodes Kind = "nodes"
	Pods  Kind = "pods"
)

// Need is what a question needs of a cluster. Pods and nodes are always read.
type Need struct {
	MaxSize int64 // of all answers together, in bytes, unpacked; 0: the limit of the source
	// Placing: the question looks for nodes for pods. Volumes and devices are read only when a pod has some.
	Placing bool
	// Budgets: the question asks PodDisruptionBudgets. Their controllers are read only when there are budgets.
	Budgets bool
	// Workloads: the question makes pods of controllers, or checks their templates.
	Workloads bool
	// Admission: the question admits pods as the API server does.
	Admission bool
	// Devices: the question reads the devices that pods have. They are read only when a pod has claims.
	Devices bool
	// All: everything, whatever the pods have.
	All bool
	// Node limits nodes and pods to one node; "" for all.
	Node string
	// Stats and Settings: what the kubelets measure, and how they are configured to evict. With Node a kubelet that gives no stats
	// is an error, without it a warning.
	Stats, Settings bool
}
