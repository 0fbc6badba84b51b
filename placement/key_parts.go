package placement

import (
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// KeyPart is a part of a plugin's key: Append appends what Name names. Parts with equal names append the same, and so does a plugin
// whose KeyName is the name of a part.
type KeyPart = hooks.Part

// labelsPart has the namespace and the labels of a pod.
var labelsPart = KeyPart{Name: "labels", Append: key.Labels}
