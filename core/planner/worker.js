/* The program's thread: the page asks it, so that the page itself never waits for an answer. Messages are answered in
   their order: { id, write, content } keeps a file, { id, run: words } runs a command. */
'use strict';
(function () {
const SHARE = '/share/layermeter/';
let engine, out = [], err = [];

/* What the program printed, and its exit status; it broke where there is `broken`. */
function run(words) {
    const stack = engine.stackSave();
    out = [];
    err = [];
    try {
        const code = engine.callMain(words);
        engine.stackRestore(stack);
        return { code, out, err };
    } catch (e) {
        return { broken: 'The program stopped: ' + e.message };
    }
}
const names = (folder) => engine.FS.readdir(SHARE + folder).filter((f) => f.endsWith('.ini')).map((f) => f.slice(0, -4)).sort();

const begun = createEngine({
    noInitialRun: true, thisProgram: '/bin/layermeter', print: (t) => out.push(t), printErr: (t) => err.push(t),
}).then((made) => {
    engine = made;
    engine.FS.symlink('/bin/layermeter', '/proc/self/exe'); /* where the program looks for its files */
    engine.FS.mkdir('/own');
    engine.FS.chdir('/own');
    self.postMessage({ ready: { models: names('models'), links: names('configs/interconnects') } });
});
begun.catch((e) => self.postMessage({ failed: e.message }));
/* What comes before the program is ready waits for it. */
self.onmessage = ({ data }) => begun.then(() => {
    if (data.write) engine.FS.writeFile(data.write, data.content);
    self.postMessage({ id: data.id, ...(data.run ? run(data.run) : {}) });
});
})();
