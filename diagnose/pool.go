package diagnose

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/nodepool"
)

// PoolOf returns the name of the pool of a node, as remedies name it: the value of the first label by which a cloud or an autoscaler names
// pools. "" for a node without such a label.
func PoolOf(node *v1.Node) string {
	name, _ := nodepool.Of(node)
	return name
}
