package command

import (
	"errors"
	"strings"
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

// pressureOf gives the program the node. A cluster is asked for that node alone.
func pressureOf(a *asked) error {
	a.argument = "-node"
	if len(a.names) == 0 {
		if len(a.files) == 0 {
			return errors.New("NODE: Required value: the node whose kubelet is asked")
		}
		return nil
	}
	a.names[0] = strings.TrimPrefix(a.names[0], "node/")
	a.given = append(a.given, a.argument+"="+a.names[0])
	return nil
}
