package pressure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/podberth/podberth/tools/dump"
)

// wants is what each flag reads.
var wants = map[string]string{
	"-f":       "Kubernetes objects: the pods and their node",
	"-summary": "a stats summary, which kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints",
	"-kubelet": "a KubeletConfiguration",
	"-state":   "what an earlier run has written",
}

// loadSummary reads the file of -summary.
func loadSummary(o options, stdin io.Reader) (*stats.Summary, error) {
	var file struct {
		Kind string           `json:"kind"` // of a Kubernetes object
		Node *stats.NodeStats `json:"node"`
		Pods []stats.PodStats `json:"pods"`
	}
	if _, err := dump.ReadFile(o.summary, stdin, &file, o.Input); err != nil {
		return nil, err
	}
	if file.Kind != "" || file.Node == nil {
		return nil, fmt.Errorf("%s: node: Required value: -summary takes %s", o.summary, wants["-summary"])
	}
	return &stats.Summary{Node: *file.Node, Pods: file.Pods}, nil
}

// misplaced returns an error about the first file that another flag wants, nil when there is none. It leaves out folders and
// standard input.
func misplaced(o options) error {
	type given struct{ flag, path string }
	files := []given{{"-summary", o.summary}, {"-kubelet", o.kubelet}, {"-state", o.state}}
	for _, path := range o.Files {
		files = append(files, given{"-f", path})
	}
	for _, g := range files {
		if info, err := os.Stat(g.path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if flag := wantedBy(g.path, o.Input); flag != "" && flag != g.flag {
			return fmt.Errorf("%s: Invalid value: %q: the file goes to %s, it holds %s; %s takes %s", g.flag, g.path, flag, wants[flag], g.flag, wants[g.flag])
		}
	}
	return nil
}

// wantedBy returns the flag that reads such a file, "" when that is not known.
func wantedBy(path string, limits dump.Options) string {
	data, err := dump.ReadJSON(path, nil, limits)
	if errors.Is(err, dump.ErrDocuments) {
		if _, err := dump.Read([]string{path}, nil, limits); err == nil {
			return "-f"
		}
	}
	var file struct {
		Kind        string
		Node, State json.RawMessage
	}
	if errors.Join(err, json.Unmarshal(data, &file)) != nil {
		return ""
	}
	switch {
	case file.Kind == kubeletKind:
		return "-kubelet"
	case file.Kind != "":
		return "-f"
	case file.State != nil:
		return "-state"
	case bytes.HasPrefix(file.Node, []byte("{")):
		return "-summary"
	}
	return ""
}
