package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/podberth/podberth/cmd/kubectl-podberth/internal/source"
)

// has reports whether a flag is given to the program.
func (a *asked) has(flag string) bool {
	for _, g := range a.given {
		if strings.HasPrefix(g, flag+"=") {
			return true
		}
	}
	return false
}

// podFor gives the pod of the command line to the program by a flag. A pod is NAME, NAMESPACE/NAME, or as kubectl prints it pod/NAME.
func podFor(flag string) func(a *asked) error {
	return func(a *asked) error {
		pod := a.names[0]
		for _, kind := range []string{"pod/", "pods/", "po/"} {
			if rest, ok := strings.CutPrefix(pod, kind); ok {
				pod = rest
				break
			}
		}
		if !strings.Contains(pod, "/") {
			pod = a.namespace + "/" + pod
		}
		a.argument, a.given = flag, append(a.given, flag+"="+pod)
		return nil
	}
}

// summaryOf gives the program the stats summary and the configuration of the node's kubelet, which the API server fetches.
func summaryOf(a *asked) error {
	switch {
	case len(a.files) > 0 && !a.has("-summary"):
		return errors.New("--summary: Required value: a dump has no stats; kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints them")
	case len(a.files) > 0:
		return nil
	case len(a.names) == 0:
		return errors.New("NODE: Required value: the node whose kubelet is asked")
	}
	a.names[0] = strings.TrimPrefix(a.names[0], "node/")
	c, err := a.live()
	if err != nil {
		return err
	}
	proxy := "/api/v1/nodes/" + url.PathEscape(a.names[0]) + "/proxy"
	dir, err := os.MkdirTemp("", "podberth")
	if err != nil {
		return err
	}
	a.cleanup = append(a.cleanup, func() { os.RemoveAll(dir) }) // a file in the folder for temporary files is all that may stay
	if !a.has("-summary") {
		data, err := c.Get(a.ctx, proxy+"/stats/summary", nil, source.JSON)
		if err != nil {
			return fmt.Errorf("the stats of node %s: %w; get on nodes/proxy is needed", a.names[0], err)
		}
		if err := a.file(dir, "summary", data); err != nil {
			return err
		}
	}
	if a.has("-kubelet") {
		return nil
	}
	data, err := c.Get(a.ctx, proxy+"/configz", nil, source.JSON)
	var answer struct {
		Config json.RawMessage `json:"kubeletconfig"`
	}
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	if err != nil || !bytes.HasPrefix(answer.Config, []byte("{")) {
		fmt.Fprintf(a.stderr, "warning: the configuration of the kubelet of %s cannot be read, its defaults are taken; --kubelet FILE gives one (%v)\n", a.names[0], err)
		return nil
	}
	typed := append([]byte(`{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration",`), answer.Config[1:]...)
	if bytes.Contains(answer.Config, []byte(`"kind"`)) {
		typed = answer.Config
	}
	return a.file(dir, "kubelet", typed)
}

// file gives data to the program as the file of a flag.
func (a *asked) file(dir, flag string, data []byte) error {
	path := filepath.Join(dir, flag+".json")
	a.given = append(a.given, "-"+flag+"="+path)
	return os.WriteFile(path, data, 0o600)
}
