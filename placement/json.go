package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
)

// This file is the form in which decisions and failures are stored. Names of plugins and codes, reasons and messages are
// kube-scheduler's; keys are only ever added. Slots and Options.Next are not stored: they mean nothing to another process.
// Rejection, NodeScore, NodeReport, Violation and Room are stored as their fields say.

// decisionJSON is the stable form of a Decision.
type decisionJSON struct {
	Node      string       `json:"node,omitempty"`
	Total     int64        `json:"total"`
	Nodes     int          `json:"nodes"`
	Evaluated int          `json:"evaluated"`
	Feasible  int          `json:"feasible"`
	Volumes   *volumesJSON `json:"volumes,omitempty"`
	Failure   *Failure     `json:"failure,omitempty"`
}

// volumesJSON names what has to happen to claims.
type volumesJSON struct {
	Bind      []bindJSON `json:"bind,omitempty"`
	Provision []string   `json:"provision,omitempty"`
}

type bindJSON struct {
	Claim  string `json:"claim"`
	Volume string `json:"volume"`
}

// MarshalJSON writes
//
//	{"node": "n2", "total": 452, "nodes": 5, "evaluated": 5, "feasible": 3,
//	 "volumes": {"bind": [{"claim": "default/data", "volume": "disk-b"}], "provision": ["default/scratch"]}}
//
// and for a pod without a node "failure" instead of "node"; see [Failure]. volumes is left out when nothing has to happen. A pod
// whose ResourceClaims get devices has them too:
//
//	"devices": [{"claim": "default/gpus", "devices": [{"request": "gpu", "device": "gpu.example.com/n2/gpu-0"}]}]
func (d Decision) MarshalJSON() ([]byte, error) {
	out := decisionJSON{Node: d.Node, Total: d.Total, Nodes: d.Nodes, Evaluated: d.Evaluated, Feasible: d.Feasible, Failure: d.Failure}
	if !d.Volumes.Empty() {
		out.Volumes = &volumesJSON{}
		for _, m := range d.Volumes.Bind {
			out.Volumes.Bind = append(out.Volumes.Bind, bindJSON{m.Claim.Namespace + "/" + m.Claim.Name, m.Volume.Name})
		}
		for _, c := range d.Volumes.Provision {
			out.Volumes.Provision = append(out.Volumes.Provision, c.Namespace+"/"+c.Name)
		}
	}
	if len(d.Devices.Claims) == 0 {
		return json.Marshal(out)
	}
	return json.Marshal(struct {
		decisionJSON
		Devices any `json:"devices"`
	}{out, claimsJSON(d.Devices)})
}

// claimsJSON names the devices of an allocation. The claim for extended resources has no name yet.
func claimsJSON(d devices.Allocation) any {
	type device struct {
		Request string `json:"request"`
		Device  string `json:"device"`
	}
	type claim struct {
		Claim   string   `json:"claim"`
		Devices []device `json:"devices"`
	}
	var out []claim
	for k, c := range d.Claims {
		name := c.Name
		if c.UID == "" && c.GenerateName != "" {
			name = strings.TrimSuffix(c.GenerateName, "-")
		}
		x := claim{Claim: c.Namespace + "/" + name, Devices: []device{}}
		for _, r := range d.Results[k].Devices.Results {
			x.Devices = append(x.Devices, device{r.Request, devices.ID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}.String()})
		}
		out = append(out, x)
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON wrote. Slot is -1 then: ask [Plan.Slot] for the node's. Volumes and Devices, which are
// objects, are not read.
func (d *Decision) UnmarshalJSON(data []byte) error {
	var in decisionJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*d = Decision{Slot: -1, Node: in.Node, Total: in.Total, Nodes: in.Nodes, Evaluated: in.Evaluated, Feasible: in.Feasible, Failure: in.Failure}
	return nil
}

// failureJSON is the stable form of a Failure.
type failureJSON struct {
	Code        string       `json:"code"`
	Message     string       `json:"message"`
	Nodes       int          `json:"nodes,omitempty"`
	Reasons     []reasonJSON `json:"reasons,omitempty"`
	PreFilter   string       `json:"preFilter,omitempty"`
	Absent      []string     `json:"absent,omitempty"`
	AbsentNodes int          `json:"absentNodes,omitempty"`
	Rejecters   []string     `json:"rejecters,omitempty"`
	Error       string       `json:"error,omitempty"`
}

type reasonJSON struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// MarshalJSON writes
//
//	{"code": "Unschedulable", "message": "0/5 nodes are available: …", "nodes": 5,
//	 "reasons": [{"reason": "Insufficient cpu", "nodes": 3}, …], "rejecters": ["NodeResourcesFit", …]}
//
// with the parts of the message: preFilter, the text of a plugin that rejected the pod before any node, or reasons; absent
// and absentNodes for nodes that plugins left out. An attempt that failed has code Error and its text as error and message.
func (f Failure) MarshalJSON() ([]byte, error) {
	m := &f.Message
	out := failureJSON{
		Code: f.Code.String(), Message: f.Text(), Nodes: m.Nodes, PreFilter: m.PreFilter, Absent: m.Absent,
		AbsentNodes: m.AbsentNodes, Rejecters: f.Rejecters,
	}
	if f.Err != nil {
		out.Error = f.Err.Error()
	}
	for _, r := range m.Reasons {
		out.Reasons = append(out.Reasons, reasonJSON(r))
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote; Err keeps its text alone. The error names a code that does not exist.
func (f *Failure) UnmarshalJSON(data []byte) error {
	var in failureJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	codes := []filter.Code{filter.Error, filter.Unschedulable, filter.UnschedulableAndUnresolvable, filter.Pending}
	k := slices.IndexFunc(codes, func(c filter.Code) bool { return c.String() == in.Code })
	if k < 0 {
		return fmt.Errorf("code: Unsupported value: %q", in.Code)
	}
	out := Failure{Code: codes[k], Rejecters: in.Rejecters}
	out.Message = filter.Message{Nodes: in.Nodes, PreFilter: in.PreFilter, Absent: in.Absent, AbsentNodes: in.AbsentNodes}
	for _, r := range in.Reasons {
		out.Message.Reasons = append(out.Message.Reasons, filter.Count(r))
	}
	if in.Error != "" {
		out.Err = errors.New(in.Error)
	}
	out.show()
	*f = out
	return nil
}
